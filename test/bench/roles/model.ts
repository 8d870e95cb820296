// A model that keeps every run busy: it thinks for a while, says a few words, and asks for one tool more.

import { setTimeout as sleep } from 'node:timers/promises'
import { ModelServer } from '../model-server.ts'
import { serve } from './serve.ts'

export interface ModelQuestion {
  thinksMs: number
}

async function start({ thinksMs }: ModelQuestion): Promise<Record<string, string>> {
  const model = await ModelServer.start(async () => {
    // Not all at the same moment: no two answers of a model take equally long.
    await sleep(thinksMs * (0.5 + Math.random()))
    return { text: 'I look around once more. '.repeat(20), calls: [{ name: 'relay_status', args: {} }] }
  })
  return model.env()
}

serve(start)
