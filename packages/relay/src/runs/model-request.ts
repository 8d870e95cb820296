// One request of the built-in agent loop to its model. The answer is streamed, so that its words are seen as they come. A request is retried after a temporary
// failure, and never after the run is over.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Tokens } from '@agent-relay/sdk/protocol'
import type { LanguageModel, ModelMessage, ToolSet } from 'ai'
import type { RunLimits } from './limits.ts'

export interface ModelQuestion {
  model: LanguageModel
  system: string
  messages: ModelMessage[]
  tools: ToolSet
}

export interface ModelAnswer {
  text: string
  /** The model's messages, which are to be added to the conversation with the model. */
  messages: ModelMessage[]
  calls: { toolCallId: string; toolName: string; input: unknown }[]
  tokens: Tokens
}

export interface RequestControls {
  limits: Pick<RunLimits, 'triesMax' | 'retryMs' | 'requestMsMax'>
  /** Aborted when the run has ended: no further request is made. A request under way ends by itself. */
  over: AbortSignal
  /** Aborted when the daemon stops: a request under way is given up. */
  closing: AbortSignal
  onText(text: string): void
  /** Called with the tokens of each answer, even of one that comes after the run is over. */
  onTokens(tokens: Tokens): void
}

/** Without this setting the AI library logs a line at every request to a model that it does not know. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** Asks the model, with retries. Throws the error of the last attempt; returns undefined if the run has ended meanwhile. */
export async function askModel(question: ModelQuestion, controls: RequestControls): Promise<ModelAnswer | undefined> {
  const { limits, over } = controls
  for (let tries = 1; ; tries++) {
    if (over.aborted) return undefined
    try {
      const answer = await askModelOnce(question, controls)
      controls.onTokens(answer.tokens)
      return over.aborted ? undefined : answer
    } catch (error) {
      if (over.aborted) return undefined
      if (tries >= limits.triesMax || !mayRetry(error)) throw error
      await sleep(limits.retryMs * 2 ** (tries - 1), undefined, { signal: over }).catch(() => {})
    }
  }
}

async function askModelOnce(
  question: ModelQuestion,
  { limits, closing, onText }: RequestControls,
): Promise<ModelAnswer> {
  const { streamText } = await import('./libraries.ts')
  const late = AbortSignal.timeout(limits.requestMsMax)
  const abortSignal = AbortSignal.any([closing, late])
  // The AI library's own retries are off: it would retry even after the run is over.
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
  const { inputTokens: input = 0, outputTokens: output = 0, inputTokenDetails } = usage
  const tokens = { input, output, cached: inputTokenDetails.cacheReadTokens ?? 0 }
  return { text, messages: response.messages, calls, tokens }
}

/** Whether a retry may succeed: a wrong key or an unknown model stays wrong; a busy or broken server may recover. */
function mayRetry(error: unknown): boolean {
  const { isRetryable, statusCode } = (error ?? {}) as { isRetryable?: boolean; statusCode?: number }
  return isRetryable === true || statusCode === undefined || statusCode < 400 || statusCode >= 500
}
