// Asks questions, one at a time: each question wakes the agent that follows its inbox, and each answer wakes the asker. No message is sent again.

import { connectClient } from '../harness/clients.ts'
import { inTrial, type TrialOptions } from '../harness/processes.ts'

export interface WakesSize {
  questions: number
  /** How long an answer may take before it counts as lost. */
  wakeMs: number
}

/** `p50Ms`: the time from a question to its answer, the median; `maxMs`: the longest. */
export function measureAnswerTimes({ questions, wakeMs }: WakesSize, options: TrialOptions) {
  return inTrial(options, async (trial) => {
    await trial.startDaemon()
    const faults: string[] = []
    const asker = await connectClient(trial, 'asker', { faults })
    const answerer = await connectClient(trial, 'answerer', { faults })
    const failed = (error: Error) => trial.isOver || faults.push(`the answer was not sent: ${error.message}`)
    answerer.on('message', ({ id, content }) => {
      answerer.call('message.send', { replyTo: id, body: `answer to ${content}` }).catch(failed)
    })
    const tookMs: number[] = []
    for (let n = 1; n <= questions && faults.length === 0; n++) {
      const from = performance.now()
      try {
        const { body } = await asker.sendAndWait('answerer', `question ${n}`, { timeoutMs: wakeMs })
        if (body !== `answer to question ${n}`) faults.push(`question ${n} was answered by "${body}"`)
        tookMs.push(performance.now() - from)
      } catch (error) {
        faults.push(`question ${n} woke nobody, or its answer did not: ${(error as Error).message}`)
      }
      trial.reportProgress(`question ${n} of ${questions}`)
    }
    tookMs.sort((a, b) => a - b)
    const [p50Ms = Number.NaN, maxMs = Number.NaN] = [tookMs[tookMs.length >> 1], tookMs.at(-1)]
    return { questions: tookMs.length, p50Ms, maxMs, faults }
  })
}
