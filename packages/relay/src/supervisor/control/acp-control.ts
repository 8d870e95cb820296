// The control of a program that speaks ACP (Agent Client Protocol, version 1) on its stdin and stdout. The protocol reports the end of a turn and
// what the program waits for. There is one conversation with at most one open prompt: at a second prompt, Gemini and Copilot would cancel the first.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { cleanLine } from '@agent-relay/sdk/internal/clean'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { version } from '../../machine/version.ts'
import type { AcpMcpServer } from '../harness/harness.ts'
import type { RpcReply } from '../json-rpc.ts'
import type { ProgramOutput } from '../output.ts'
import { type ProgramExit, programExitOf } from '../pty.ts'
import { AcpPermissions, type AcpPermissionsOptions } from './acp-permissions.ts'
import {
  acpVersion,
  InitializeAnswer,
  LoadSessionAnswer,
  NewSessionAnswer,
  rpcErrorCodes,
  SessionUpdate,
  TurnEnd,
  WorkUpdate,
} from './acp-schemas.ts'
import { AcpUsage, spentText } from './acp-usage.ts'
import { AcpWire } from './acp-wire.ts'
import type { ControlState, ProgramControl, PromptListener } from './control.ts'
import { Transcript } from './transcript.ts'

export interface AcpControlOptions extends AcpPermissionsOptions {
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  mcpServers: readonly AcpMcpServer[]
  /** The earlier conversation to continue, by the id that the agent gave it. */
  conversation?: string
  output: ProgramOutput
}

/** Timeout of each of the two steps that open the conversation. Gemini took 7 s on a busy machine. */
const openStepMs = waitLimitMs('acpStart')
/** Maximum time for which the first prompt waits until the program has loaded the tools of its MCP servers. */
const toolsMsMax = 10_000
/** Pause after a refused prompt, and its maximum after repeated refusals: a model without free capacity may have some later. */
const [refusedMs, refusedMsMax] = [30_000, 600_000]
/** Time after the program's exit for reading the output that is still in its pipes. */
const drainMs = 500
/** Characters kept of the end of stderr, which may say why the program exited. */
const stderrCharsMax = 2_000
/** Maximum number of lines shown of the program's output that is not ACP. */
const strayLinesMax = 20
/** Maximum number of lines that a person may type ahead while the program is busy. */
const typedLinesMax = 16

interface AcpTurn {
  /** The listener of the prompt that began the turn; unset once that prompt's outcome is known. */
  listener: PromptListener | undefined
  /** Whether the turn was cancelled: what the program asks of a person until the turn has ended is then not put to anybody. */
  isCancelled?: true
}

export class AcpControl implements ProgramControl {
  readonly name = 'acp'
  readonly mailRoom = { bytesMax: 256 * 1024 }
  readonly canInterrupt = true
  readonly #options: AcpControlOptions
  readonly #child: ChildProcessWithoutNullStreams
  readonly #wire: AcpWire
  readonly #transcript: Transcript
  readonly #permissions: AcpPermissions
  readonly #usage: AcpUsage
  #turns = 0
  #session: string | undefined
  /** Whether a program that is started later can open this conversation again. */
  #canLoad = false
  /** When the conversation was opened, in milliseconds of the monotonic clock. */
  #openedAt = Number.POSITIVE_INFINITY
  /** The turn that is under way; unset while no prompt is open. */
  #turn: AcpTurn | undefined
  #hasTalked = false
  readonly #typed: string[] = []
  #lastRefusal: { why: string; until: number; times: number } | undefined
  #stderrEnd = ''
  #strays = 0
  #isOver = false
  #isBroken = false

  private constructor(child: ChildProcessWithoutNullStreams, options: AcpControlOptions) {
    this.#options = options
    this.#child = child
    this.#transcript = new Transcript(options.output, {
      onLine: (text) => this.#onLine(text),
      onCancel: () => this.#cancel(),
    })
    this.#permissions = new AcpPermissions(options, this.#transcript)
    this.#usage = new AcpUsage(options.harness)
    this.#wire = new AcpWire(child.stdin, child.stdout, {
      onRequest: (method, params, reply) => this.#onRequest(method, params, reply),
      onNotification: (method, params) => method === 'session/update' && this.#onUpdate(params),
      onStray: (text) => this.#strays++ < strayLinesMax && this.#transcript.printLines(`(not ACP) ${text}`),
      onStuck: () => this.#break('it does not read what it is sent'),
    })
    child.stderr.on('error', () => {})
    child.stderr.on('data', (data: Buffer) => {
      this.#stderrEnd = (this.#stderrEnd + data.toString('utf8')).slice(-stderrCharsMax)
    })
    child.on('exit', (code, signal) => this.#onExit(programExitOf(code, signal)))
  }

  static start(options: AcpControlOptions): AcpControl {
    const { file, args, cwd, env } = options
    // The program gets a process group of its own, by which it is paused and ended.
    const child = spawn(file, [...args], { cwd, env: { ...env }, stdio: 'pipe', detached: true })
    child.on('error', () => {})
    if (child.pid === undefined) throw new Error(`${file} cannot be run`)
    const control = new AcpControl(child, options)
    control.#open().catch((error: Error) => control.#break(error.message))
    return control
  }

  /**
   * Whether an idle program is ready for its task. The program connects to our MCP server by itself: most programs before the conversation is open,
   * Copilot at the same time, some perhaps only when they need the server.
   */
  get isReadyWhenIdle(): boolean {
    return this.#options.mcpServers.length === 0 || this.#toolsLoadingMs() <= 0
  }

  get pid(): number {
    return this.#child.pid as number
  }

  async look(): Promise<ControlState> {
    if (this.#session === undefined) return { state: 'starting' }
    const reason = this.#permissions.waitReason
    if (reason !== undefined) return { state: 'blocked', reason }
    if (this.#turn) return { state: 'busy' }
    const restMs = (this.#lastRefusal?.until ?? 0) - performance.now()
    if (restMs > 0) {
      const reason = `it refused: ${this.#lastRefusal?.why}`
      return { state: 'blocked', reason, isBetweenTurns: true, lookAgainMs: restMs }
    }
    const toolsMs = this.#toolsLoadingMs()
    return toolsMs > 0 ? { state: 'idle', lookAgainMs: toolsMs } : { state: 'idle' }
  }

  /** Milliseconds for which the program may still be loading its tools; negative when that time is over. */
  #toolsLoadingMs(): number {
    return this.#openedAt + toolsMsMax - performance.now()
  }

  async prompt(text: string, listener: PromptListener): Promise<undefined> {
    // A person may have begun a turn since the program's state was read.
    if (this.#turn || this.#session === undefined || this.#isOver) listener.onRefused()
    else this.#beginTurn(text, listener)
  }

  /** Ends the turn that is under way. */
  #cancel(): void {
    if (!this.#turn) return
    this.#turn.isCancelled = true
    this.#wire.notify('session/cancel', { sessionId: this.#session })
    this.#permissions.closeAll('cancelled')
    this.#transcript.printLines('cancelled')
  }

  async interrupt(): Promise<void> {
    this.#cancel()
  }

  type(data: string): void {
    this.#transcript.type(data)
  }

  resize(cols: number): void {
    this.#transcript.resize(cols)
  }

  exitSteps(): readonly (() => unknown)[] {
    return [() => this.end()]
  }

  async #open(): Promise<void> {
    const answer = await this.#wire.call(
      'initialize',
      {
        protocolVersion: acpVersion,
        // The program reads and writes files itself, not through the relay, as it does in a terminal.
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        clientInfo: { name: 'agent-relay', title: 'Agent Relay', version },
      },
      openStepMs,
    )
    const said = InitializeAnswer.parse(answer)
    if (said.protocolVersion !== acpVersion) throw new Error(`it speaks version ${said.protocolVersion} of ACP`)
    this.#canLoad = said.agentCapabilities?.loadSession === true && !this.#options.harness.losesConversations
    this.#session = await this.#openConversation()
    this.#openedAt = performance.now()
    this.#transcript.setIdle(true)
    this.#options.listener.onChange()
  }

  /** Begins a conversation, or opens the one to continue. Returns its id. */
  async #openConversation(): Promise<string> {
    const { cwd, mcpServers, conversation } = this.#options
    if (conversation === undefined) {
      const opened = NewSessionAnswer.parse(await this.#wire.call('session/new', { cwd, mcpServers }, openStepMs))
      this.#usage.model = opened.models?.currentModelId
      return opened.sessionId
    }
    if (!this.#canLoad) throw new Error('it opens no earlier conversation any more')
    const asked = { sessionId: conversation, cwd, mcpServers }
    const opened = LoadSessionAnswer.parse(await this.#wire.call('session/load', asked, openStepMs))
    this.#usage.model = opened?.models?.currentModelId
    return conversation
  }

  /** Begins a turn. While there is no answer, the prompt does not count as taken: a rate limit or an expired login may be reported after a minute. */
  #beginTurn(text: string, listener?: PromptListener): void {
    const turn: AcpTurn = { listener }
    this.#turn = turn
    this.#transcript.setIdle(false)
    this.#transcript.printPrompt(text)
    this.#wire
      .call('session/prompt', { sessionId: this.#session, prompt: [{ type: 'text', text }] })
      .then((answer) => this.#onTurnEnd(turn, TurnEnd.safeParse(answer).data))
      .catch((error: Error) => this.#onRefused(turn, error))
      .finally(() => {
        if (this.#turn !== turn) return
        this.#turn = undefined
        this.#permissions.closeAll('cancelled')
        this.#permissions.onTurnEnd()
        this.#beginNextTurn()
      })
  }

  /** Reports that the prompt of the turn was taken, because the model works on it. */
  #onTaken(turn: AcpTurn | undefined): void {
    if (turn && this.#canLoad && this.#session !== undefined) this.#options.listener.onConversation(this.#session)
    const listener = turn?.listener
    if (!listener) return
    turn.listener = undefined
    listener.onTaken('acp').catch((error: Error) => this.#options.listener.onTrouble(error))
  }

  #onTurnEnd(turn: AcpTurn, end: TurnEnd | undefined): void {
    this.#onTaken(turn)
    this.#hasTalked = true
    this.#lastRefusal = undefined
    const spend = this.#usage.onTurnEnd(end)
    if (spend) this.#options.listener.onSpent(++this.#turns, spend)
    this.#transcript.printLines(`── ${end?.stopReason ?? 'ended'}${spentText(spend)}`)
  }

  #onRefused({ listener }: AcpTurn, error: Error): void {
    if (this.#isOver) return listener?.onRefused()
    const times = (this.#lastRefusal?.times ?? 0) + 1
    const until = performance.now() + Math.min(refusedMsMax, refusedMs * 2 ** (times - 1))
    const why = cleanLine(error.message)
    this.#lastRefusal = { why, until, times }
    this.#transcript.printLines(`it refused: ${why}`)
    listener?.onRefused(why)
  }

  /** Begins the next turn with a line that a person typed during the last turn, if there is one. */
  #beginNextTurn(): void {
    const typed = this.#typed.shift()
    if (typed !== undefined && !this.#isOver) this.#beginTurn(typed)
    else this.#transcript.setIdle(!this.#isOver)
    this.#options.listener.onChange()
  }

  #onLine(text: string): void {
    if (this.#permissions.answerTyped(text)) return
    if (this.#session === undefined || this.#turn) {
      if (this.#typed.length < typedLinesMax) this.#typed.push(text)
      this.#transcript.printLines(
        'It is at work: what you typed goes to it when this turn has ended. Ctrl-C ends the turn.',
      )
    } else {
      this.#lastRefusal = undefined
      this.#beginTurn(text)
      this.#options.listener.onChange()
    }
  }

  #onRequest(method: string, params: unknown, reply: RpcReply): void {
    this.#onTaken(this.#turn)
    if (method === 'session/request_permission') {
      if (this.#turn?.isCancelled) this.#permissions.cancel(reply)
      else this.#permissions.ask(params, reply)
    } else reply.error(rpcErrorCodes.method, `${cleanLine(method).slice(0, 100)} is not offered`)
  }

  #onUpdate(params: unknown): void {
    const { update } = SessionUpdate.safeParse(params).data ?? {}
    // An agent that opens an earlier conversation first repeats all its updates. Only the cost in them is used.
    if (this.#session === undefined) {
      if (update?.sessionUpdate === 'usage_update' && update.cost) this.#usage.onPastCost(update.cost)
      return
    }
    if (WorkUpdate.safeParse(params).success) this.#onTaken(this.#turn)
    switch (update?.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#transcript.printStream(update.content.text ?? '')
      case 'agent_thought_chunk':
        return this.#transcript.printStream(update.content.text ?? '', 'thought')
      case 'tool_call':
        this.#transcript.printLines(`⏺ ${cleanLine(update.title ?? 'a tool')}`)
        return this.#permissions.onUpdate(update)
      case 'tool_call_update':
        if (update.status === 'failed') this.#transcript.printLines('  failed')
        return this.#permissions.onUpdate(update)
      case 'usage_update':
        if (update.cost) this.#usage.onCost(update.cost)
    }
  }

  /** Stops using ACP with the program, because its messages or its start have failed. */
  #break(why: string): void {
    // Ending sends last messages to the program, which may call this method again because the program does not read them.
    if (this.#isOver || this.#isBroken) return
    this.#isBroken = true
    this.end()
    const said = this.#stderrEnd.trim()
    this.#transcript.printLines([`It cannot be spoken to over ACP: ${why}`, said].join('\n'))
    this.#options.listener.onBroken(cleanLine(why), this.#hasTalked)
  }

  #onExit(exit: ProgramExit): void {
    // The program's last output is read before the exit is reported. If child processes keep the pipes open, the wait ends after `drainMs`.
    const over = () => {
      clearTimeout(timer)
      this.#child.off('close', over)
      const ended = exit.signal === undefined ? `with code ${exit.code}` : `by signal ${exit.signal}`
      if (this.#session === undefined && !this.#isOver) return this.#break(`it ended ${ended}`)
      this.end()
      if (!this.#isBroken) this.#options.listener.onExit(exit)
    }
    const timer = setTimeout(over, drainMs)
    this.#child.on('close', over)
  }

  end(): void {
    if (this.#isOver) return
    this.#permissions.closeAll('gone')
    this.#cancel()
    this.#isOver = true
    this.#wire.close()
  }
}
