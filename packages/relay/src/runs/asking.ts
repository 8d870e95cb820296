// One request to the model: streamed, so that its words are seen as they come; made again where the failure may pass; never after the run is over.

import { setTimeout as sleep } from 'node:timers/promises'
import type { LanguageModel, ModelMessage, ToolSet } from 'ai'
import type { RunLimits } from './limits.ts'

export interface Question {
  model: LanguageModel
  system: string
  messages: ModelMessage[]
  tools: ToolSet
}

export interface ModelAnswer {
  text: string
  /** As they belong into the conversation. */
  messages: ModelMessage[]
  calls: { toolCallId: string; toolName: string; input: unknown }[]
  tokens: number
}

export interface Circumstances {
  limits: Pick<RunLimits, 'triesMax' | 'retryMs' | 'requestMsMax'>
  /** The run has ended: nothing more is asked. What is under way ends by itself. */
  over: AbortSignal
  /** The daemon stops: what is under way is given up. */
  closing: AbortSignal
  onText(text: string): void
}

/** It would write a line to the daemon's log at every request to a model that it does not know. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** Throws what the last try failed with. Undefined where the run ended meanwhile. */
export async function ask(question: Question, circumstances: Circumstances): Promise<ModelAnswer | undefined> {
  const { limits, over } = circumstances
  for (let tries = 1; ; tries++) {
    if (over.aborted) return undefined
    try {
      const answer = await askOnce(question, circumstances)
      return over.aborted ? undefined : answer
    } catch (error) {
      if (over.aborted) return undefined
      if (tries >= limits.triesMax || !mayPass(error)) throw error
      await sleep(limits.retryMs * 2 ** (tries - 1), undefined, { signal: over }).catch(() => {})
    }
  }
}

async function askOnce(question: Question, { limits, closing, onText }: Circumstances): Promise<ModelAnswer> {
  const { streamText } = await import('./kit.ts')
  const late = AbortSignal.timeout(limits.requestMsMax)
  const abortSignal = AbortSignal.any([closing, late])
  // No retries of its own: it would make them after the run is over, too.
  const result = streamText({ ...question, maxRetries: 0, abortSignal, onError: () => {} })
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') onText(part.text)
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw new Error(`it did not answer within ${limits.requestMsMax / 1000} s`)
  }
  const [text, response, calls, usage] = await Promise.all([
    result.text,
    result.response,
    result.toolCalls,
    result.usage,
  ])
  const { inputTokens = 0, outputTokens = 0 } = usage
  return { text, messages: response.messages, calls, tokens: inputTokens + outputTokens }
}

/** A wrong key or an unknown model stays wrong; a busy or broken server may recover. */
function mayPass(error: unknown): boolean {
  const { isRetryable, statusCode } = (error ?? {}) as { isRetryable?: boolean; statusCode?: number }
  return isRetryable === true || statusCode === undefined || statusCode < 400 || statusCode >= 500
}
