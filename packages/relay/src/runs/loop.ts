// The built-in agent loop: gives a model its tools and its messages, turn by turn, until the run is over or one of its limits is reached.

import type { Tokens } from '@agent-relay/sdk/protocol'
import type { LanguageModel, ModelMessage } from 'ai'
import type { RunRow } from '../core/view.ts'
import type { RunLimits } from './limits.ts'
import type { RunAgentCalls } from './loop-protocol.ts'
import { askModel, type ModelAnswer } from './model-request.ts'
import { continuePrompt, firstPrompt, mailText, saysComplete, systemPrompt } from './prompt.ts'
import type { RunTools } from './tools.ts'

export interface LoopOptions {
  run: RunRow
  contract: string
  model: LanguageModel
  agent: RunAgentCalls
  tools: RunTools
  limits: RunLimits
  /** Aborted when the run has ended, whoever ended it. */
  over: AbortSignal
  closing: AbortSignal
  /** Records output of the run, which is shown to people who watch the run. */
  note(text: string): void
}

export class Loop {
  readonly #options: LoopOptions
  readonly #messages: ModelMessage[] = [{ role: 'user', content: firstPrompt }]
  #tokens = 0
  #answers = 0
  /** How many times in a row the model was asked to continue. */
  #nudges = 0

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** Runs the loop until the run is over. Resolves to a reason if the loop itself gives up. */
  async run(): Promise<string | undefined> {
    const { limits, over } = this.#options
    for (let turn = 1; !over.aborted; turn++) {
      if (turn > limits.turnsMax) return `It has used its ${limits.turnsMax} turns.`
      if (this.#tokens >= limits.tokensMax)
        return `It has used ${this.#tokens} tokens; ${limits.tokensMax} is the limit.`
      const reason = await this.#turn()
      if (reason !== undefined) return reason
    }
    return undefined
  }

  async #turn(): Promise<string | undefined> {
    const { agent, contract, over } = this.#options
    const mail = await agent.takeMail()
    if (mail.length > 0) this.#messages.push({ role: 'user', content: mailText(mail) })
    let answer: ModelAnswer | undefined
    try {
      answer = await this.#ask()
    } catch (error) {
      return `The model failed: ${reasonOf(error)}`
    }
    if (!answer || over.aborted) return undefined
    // The model has answered, so it has read the messages that were handed to it before.
    void agent.markRead()
    this.#tokens += answer.tokens.input + answer.tokens.output
    this.#messages.push(...answer.messages.filter(({ content }) => content.length > 0))
    if (saysComplete(answer.text, contract)) return this.#complete(answer.text)
    if (answer.calls.length > 0) return this.#callTools(answer)
    return this.#nudge()
  }

  #ask(): Promise<ModelAnswer | undefined> {
    const { run, contract, model, agent, tools, limits, over, closing, note } = this.#options
    const question = { model, system: systemPrompt(run, contract), messages: this.#messages, tools: tools.definitions }
    const onTokens = (tokens: Tokens) => void agent.recordSpend(++this.#answers, tokens).catch(() => {})
    return askModel(question, { limits, over, closing, onText: note, onTokens })
  }

  async #callTools({ calls, messages }: ModelAnswer): Promise<undefined> {
    const { tools, over, note } = this.#options
    this.#nudges = 0
    // The AI library has already answered invalid tool calls by itself; these are skipped.
    const answered = new Set(messages.flatMap(({ role, content }) => (role === 'tool' ? content : [])).flatMap(idOf))
    for (const { toolCallId, toolName, input } of calls) {
      if (over.aborted) return
      if (answered.has(toolCallId)) continue
      note(`\n[${toolName}]\n`)
      const { text, isError } = await tools.call(toolName, input, over)
      const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text }
      this.#messages.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] })
    }
  }

  /** Handles an answer without tool calls: waits for a message in case the model expects one, then asks the model to continue. */
  async #nudge(): Promise<string | undefined> {
    const { agent, limits, over } = this.#options
    if (this.#nudges >= limits.nudgesMax)
      return `The model ended its turn ${this.#nudges + 1} times without completing its contract.`
    const ms = limits.nudgeMs * 2 ** this.#nudges
    const hasMail = await agent.waitForMail(ms)
    if (over.aborted) return undefined
    if (hasMail) this.#nudges = 0
    else {
      this.#nudges++
      this.#messages.push({ role: 'user', content: continuePrompt })
    }
    return undefined
  }

  async #complete(summary: string): Promise<undefined> {
    await this.#options.agent.complete(summary)
  }
}

function idOf(part: unknown): string[] {
  const { toolCallId } = part as { toolCallId?: string }
  return toolCallId === undefined ? [] : [toolCallId]
}

const reasonCharsMax = 500

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return (text === '' ? 'no reason was given' : text).slice(0, reasonCharsMax)
}
