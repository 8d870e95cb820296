// The worker thread that finds the colours of code, one text after the other. See code-highlighter.ts.

import type { HighlightAnswer, HighlightRequest } from './code-highlighter.ts'
import { highlighted } from './highlight.ts'

const tell = (message: HighlightAnswer): void => postMessage(message)

addEventListener('message', ({ data }: MessageEvent<HighlightRequest>) => {
  tell({ nodes: highlighted(data.code, data.language) })
})
tell({ isReady: true })
