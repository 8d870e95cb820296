// The worker thread that finds the colours of code, one text after the other. See colours.ts.

import type { AskedColours, FromThread } from './colours.ts'
import { highlighted } from './highlight.ts'

const tell = (message: FromThread): void => postMessage(message)

addEventListener('message', ({ data }: MessageEvent<AskedColours>) => {
  tell({ nodes: highlighted(data.code, data.language) })
})
tell({ isReady: true })
