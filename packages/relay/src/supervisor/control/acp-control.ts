// The control of a program that speaks ACP (Agent Client Protocol, version 1) on its stdin and stdout. The protocol reports the end of a turn and
// what the program waits for. There is one conversation, and never a second prompt while one is open: Gemini and Copilot would cancel the first.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { cleanLine } from '@agent-relay/sdk/internal/clean'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { version } from '../../machine/version.ts'
import type { McpServer } from '../harness/harness.ts'
import type { Reply } from '../json-rpc.ts'
import type { Output } from '../output.ts'
import { type Exit, exitOf } from '../pty.ts'
import { AcpPermissions, type AcpPermissionsOptions } from './acp-permissions.ts'
import { errors, Initialized, NewSession, protocolVersion, SessionUpdate, TurnEnd, WorkUpdate } from './acp-schemas.ts'
import { AcpUsage, spentText } from './acp-usage.ts'
import { AcpWire } from './acp-wire.ts'
import type { Control, ControlLook, PromptListener } from './control.ts'
import { Transcript } from './transcript.ts'

export interface AcpControlOptions extends AcpPermissionsOptions {
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  mcpServers: readonly McpServer[]
  output: Output
}

/** Time limit of each of the two steps that open the conversation. Gemini took 7 s on a busy machine. */
const openMs = waitLimitMs('acpStart')
/** Maximum time for which the first prompt waits for the program's tools, which it loads by itself. */
const toolsMsMax = 10_000
/** Pause after a refused prompt, and its maximum after many: a model that has no room now may have some later. */
const [refusedMs, refusedMsMax] = [30_000, 600_000]
/** Time for the output that may still be in the program's pipes when it has exited. */
const drainMs = 500
/** Characters kept of the end of stderr, which may say why the program exited. */
const saidCharsMax = 2_000
/** Lines shown of the program's output that is not ACP. */
const strayMax = 20
/** Lines kept that a person typed while the program was busy. */
const typedMax = 16

interface Prompting {
  /** The listener of the prompt that began the turn, until that prompt's outcome is known. */
  listener: PromptListener | undefined
}

export class AcpControl implements Control {
  readonly name = 'acp'
  readonly mail = { bytesMax: 256 * 1024 }
  readonly #options: AcpControlOptions
  readonly #child: ChildProcessWithoutNullStreams
  readonly #wire: AcpWire
  readonly #transcript: Transcript
  readonly #permissions: AcpPermissions
  readonly #usage: AcpUsage
  #turns = 0
  #session: string | undefined
  /** When the conversation was opened. */
  #openedAt = Number.POSITIVE_INFINITY
  /** Set while a prompt is open. */
  #turn: Prompting | undefined
  #hasTalked = false
  readonly #typed: string[] = []
  #refused: { why: string; until: number; times: number } | undefined
  #said = ''
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
      onNote: (method, params) => method === 'session/update' && this.#onUpdate(params),
      onStray: (text) => this.#strays++ < strayMax && this.#transcript.say(`(not ACP) ${text}`),
      onStuck: () => this.#break('it does not read what it is sent'),
    })
    child.stderr.on('error', () => {})
    child.stderr.on('data', (data: Buffer) => {
      this.#said = (this.#said + data.toString('utf8')).slice(-saidCharsMax)
    })
    child.on('exit', (code, signal) => this.#onExit(exitOf(code, signal)))
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
   * The program connects to our MCP server by itself: most do so before the conversation is open, Copilot at the same time, some perhaps only when
   * they need it.
   */
  get isReadyWhenIdle(): boolean {
    return this.#options.mcpServers.length === 0 || this.#toolsMs() <= 0
  }

  get pid(): number {
    return this.#child.pid as number
  }

  async look(): Promise<ControlLook> {
    if (this.#session === undefined) return { state: 'starting' }
    const reason = this.#permissions.waitsFor
    if (reason !== undefined) return { state: 'blocked', reason }
    if (this.#turn) return { state: 'busy' }
    const restMs = (this.#refused?.until ?? 0) - performance.now()
    if (restMs > 0) return { state: 'blocked', reason: `it refused: ${this.#refused?.why}`, againMs: restMs }
    const toolsMs = this.#toolsMs()
    return toolsMs > 0 ? { state: 'idle', againMs: toolsMs } : { state: 'idle' }
  }

  /** For how long the program may still be loading its tools. */
  #toolsMs(): number {
    return this.#openedAt + toolsMsMax - performance.now()
  }

  async prompt(text: string, listener: PromptListener): Promise<undefined> {
    // A person may have begun a turn since the last look.
    if (this.#turn || this.#session === undefined || this.#isOver) listener.onRefused()
    else this.#begin(text, listener)
  }

  /** Ends the turn that is under way. */
  #cancel(): void {
    if (!this.#turn) return
    this.#wire.note('session/cancel', { sessionId: this.#session })
    this.#permissions.drop('cancelled')
    this.#transcript.say('cancelled')
  }

  type(data: string): void {
    this.#transcript.type(data)
  }

  resize(cols: number): void {
    this.#transcript.resize(cols)
  }

  leave(): readonly (() => unknown)[] {
    return [() => this.end()]
  }

  async #open(): Promise<void> {
    const { cwd, mcpServers } = this.#options
    const answer = await this.#wire.call(
      'initialize',
      {
        protocolVersion,
        // The program reads and writes files itself, as it does in a terminal.
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        clientInfo: { name: 'agent-relay', title: 'Agent Relay', version },
      },
      openMs,
    )
    const said = Initialized.parse(answer)
    if (said.protocolVersion !== protocolVersion) throw new Error(`it speaks version ${said.protocolVersion} of ACP`)
    const opened = NewSession.parse(await this.#wire.call('session/new', { cwd, mcpServers }, openMs))
    this.#session = opened.sessionId
    this.#usage.model = opened.models?.currentModelId
    this.#openedAt = performance.now()
    this.#transcript.idle(true)
    this.#options.listener.onChange()
  }

  /** One turn. Silence does not mean that the prompt was taken: a rate limit or an expired login may be reported after a minute. */
  #begin(text: string, listener?: PromptListener): void {
    const turn: Prompting = { listener }
    this.#turn = turn
    this.#transcript.idle(false)
    this.#transcript.prompt(text)
    this.#wire
      .call('session/prompt', { sessionId: this.#session, prompt: [{ type: 'text', text }] })
      .then((answer) => this.#onTurnEnd(turn, TurnEnd.safeParse(answer).data))
      .catch((error: Error) => this.#onRefused(turn, error))
      .finally(() => {
        if (this.#turn !== turn) return
        this.#turn = undefined
        this.#permissions.drop('cancelled')
        this.#permissions.onTurnEnd()
        this.#next()
      })
  }

  /** Reports that the turn's prompt was taken: the model works on it. */
  #onTaken(turn: Prompting | undefined): void {
    const listener = turn?.listener
    if (!listener) return
    turn.listener = undefined
    listener.onTaken('acp').catch((error: Error) => this.#options.listener.onTrouble(error))
  }

  #onTurnEnd(turn: Prompting, end: TurnEnd | undefined): void {
    this.#onTaken(turn)
    this.#hasTalked = true
    this.#refused = undefined
    const spend = this.#usage.onTurnEnd(end)
    if (spend) this.#options.listener.onSpent(++this.#turns, spend)
    this.#transcript.say(`── ${end?.stopReason ?? 'ended'}${spentText(spend)}`)
  }

  #onRefused({ listener }: Prompting, error: Error): void {
    if (this.#isOver) return listener?.onRefused()
    const times = (this.#refused?.times ?? 0) + 1
    const until = performance.now() + Math.min(refusedMsMax, refusedMs * 2 ** (times - 1))
    const why = cleanLine(error.message)
    this.#refused = { why, until, times }
    this.#transcript.say(`it refused: ${why}`)
    listener?.onRefused(why)
  }

  /** Starts the next turn if a person typed something meanwhile: that goes first. */
  #next(): void {
    const typed = this.#typed.shift()
    if (typed !== undefined && !this.#isOver) this.#begin(typed)
    else this.#transcript.idle(!this.#isOver)
    this.#options.listener.onChange()
  }

  #onLine(text: string): void {
    if (this.#permissions.answerTyped(text)) return
    if (this.#session === undefined || this.#turn) {
      if (this.#typed.length < typedMax) this.#typed.push(text)
      this.#transcript.say('It is at work: what you typed goes to it when this turn has ended. Ctrl-C ends the turn.')
    } else {
      this.#refused = undefined
      this.#begin(text)
      this.#options.listener.onChange()
    }
  }

  #onRequest(method: string, params: unknown, reply: Reply): void {
    this.#onTaken(this.#turn)
    if (method === 'session/request_permission') this.#permissions.ask(params, reply)
    else reply.error(errors.method, `${cleanLine(method).slice(0, 100)} is not offered`)
  }

  #onUpdate(params: unknown): void {
    if (WorkUpdate.safeParse(params).success) this.#onTaken(this.#turn)
    const { update } = SessionUpdate.safeParse(params).data ?? {}
    switch (update?.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#transcript.stream(update.content.text ?? '')
      case 'agent_thought_chunk':
        return this.#transcript.stream(update.content.text ?? '', 'thought')
      case 'tool_call':
        this.#transcript.say(`⏺ ${cleanLine(update.title ?? 'a tool')}`)
        return this.#permissions.onUpdate(update)
      case 'tool_call_update':
        if (update.status === 'failed') this.#transcript.say('  failed')
        return this.#permissions.onUpdate(update)
      case 'usage_update':
        if (update.cost) this.#usage.onCost(update.cost)
    }
  }

  /** Gives up the program, which cannot be talked to any more. */
  #break(why: string): void {
    // The last messages to the program may report once more that it does not read.
    if (this.#isOver || this.#isBroken) return
    this.#isBroken = true
    this.end()
    const said = this.#said.trim()
    this.#transcript.say([`It cannot be spoken to over ACP: ${why}`, said].join('\n'))
    this.#options.listener.onBroken(cleanLine(why), this.#hasTalked)
  }

  #onExit(exit: Exit): void {
    // The program's last output is read first, unless its child processes keep the pipes open.
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
    this.#permissions.drop('gone')
    this.#cancel()
    this.#isOver = true
    this.#wire.close()
  }
}
