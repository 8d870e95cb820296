// A real daemon with a queue of approvals, and parties that want to answer: a person on the page and at a terminal, and agents with a shell of
// their own, which runs the content of a file as an agent's shell runs its model's commands. No tests.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RelayClient } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Approval, ApprovalClosed } from '@agent-relay/sdk/protocol'
import { until } from '../../../../../test/until.ts'
import type { ApprovalEnd, NewApproval } from '../../../src/broker/approvals/approval-runtime.ts'
import type { Workspace } from '../../../src/broker/workspace.ts'
import { openPty } from '../../../src/supervisor/pty.ts'
import { launcher } from '../../cli/cli-world.ts'
import { permissionChoices } from '../../permission-choices.ts'
import { HttpWorld } from '../../wires/http-world.ts'

export interface Opened extends Approval {
  over: Promise<ApprovalEnd>
  source: string
}

/** How a command ended, and all that it has printed. */
export interface Said {
  code: number
  said: string
}

const shell =
  'printf %s "$RELAY_AGENT_TOKEN" > draft; mv draft token; while :; do if [ -e go ]; then mv go now; sh ./now; rm now; fi; sleep 0.05; done'

export class ApprovalsWorld {
  readonly http: HttpWorld
  readonly workspace: Workspace
  /** Where the workers work, each in a folder of its own: never in the data directory. */
  readonly work = realpathSync(mkdtempSync(join(tmpdir(), 'relay-approvals-')))
  #asked = 0

  private constructor(http: HttpWorld, workspace: Workspace) {
    this.http = http
    this.workspace = workspace
  }

  static async start(): Promise<ApprovalsWorld> {
    const http = await HttpWorld.start({}, ['home'], { env: { PATH: process.env.PATH } })
    return new ApprovalsWorld(http, (await http.daemon.open('home')).workspace)
  }

  async stop(): Promise<void> {
    await this.http.stop()
    rmSync(this.work, { recursive: true, force: true })
  }

  get socketPath(): string {
    return socketPathOf(this.http.dir, 'home')
  }

  /** An agent with a shell; answered with the token that it finds there. */
  async hire(hirer: Pick<RelayClient, 'call'>, name: string): Promise<string> {
    const cwd = join(this.work, name)
    mkdirSync(cwd)
    await hirer.call('worker.spawn', { name, cli: 'plain', command: ['sh', '-c', shell], cwd })
    await until(() => existsSync(join(cwd, 'token')))
    return readFileSync(join(cwd, 'token'), 'utf8')
  }

  async ask(more: Partial<NewApproval> = {}, isIt?: (shown: Approval) => boolean): Promise<Opened> {
    const { approvals } = this.workspace
    const source = `test/${++this.#asked}`
    const asked = { source, agent: 'Fixer', vendor: 'claude', tool: 'Bash', input: `rm -rf ${this.#asked}`, ...more }
    const over = approvals.open({ choices: permissionChoices, ...asked })
    const shown = () => approvals.list({ standing: { rank: 'holder' } }).approvals
    const isShown = isIt ?? (({ input, agent }: Approval) => input === asked.input && agent === asked.agent)
    await until(() => shown().some(isShown))
    return { ...(shown().at(-1) as Approval), over, source }
  }

  /** Taken back by what has asked. */
  async end(...all: Opened[]): Promise<void> {
    for (const { source } of all) this.workspace.approvals.close(source, 'cancelled')
    await Promise.all(all.map(({ over }) => over))
  }

  ids(): string[] {
    return this.workspace.store.view.approvals.open().map(({ id }) => id)
  }

  closed(id: string) {
    return this.workspace.store.view.approvals.byId(id)?.closed
  }

  /** What the journal has of its end. */
  async endsOf(id: string): Promise<{ by: string; fact: ApprovalClosed }[]> {
    const { body } = await this.http.api('event.list', { types: ['approval.closed'] })
    return (body.events as { by: string; fact: ApprovalClosed }[]).filter(({ fact }) => fact.id === id)
  }

  /** Of the command line, as whoever has this home runs it. */
  variables(): Record<string, string> {
    const { dir } = this.http
    return { PATH: process.env.PATH ?? '', HOME: dir, RELAY_DATA_DIR: dir, RELAY_PROJECT: 'home' }
  }

  atTerminal(...args: string[]): Promise<Said> {
    return this.answering(args)
  }

  /** `keys` are pressed when it asks. */
  async answering(args: string[], keys?: string): Promise<Said> {
    const size = { cols: 200, rows: 50 }
    const run = { file: process.execPath, args: [launcher, ...args], cwd: this.work, env: this.variables(), ...size }
    const terminal = await openPty(run)
    const pieces: Uint8Array[] = []
    let left = keys
    terminal.onData((data) => {
      pieces.push(data)
      if (left === undefined || !Buffer.concat(pieces).includes('all the same?')) return
      void terminal.write(left)
      left = undefined
    })
    const code = await new Promise<number>((resolve) => terminal.onExit((exit) => resolve(exit.code)))
    return { code, said: Buffer.concat(pieces).toString() }
  }

  /** As a shell types it, with nothing in its environment but what a person's has. */
  typed(...args: string[]): string {
    const clean = Object.entries(this.variables()).map(([name, value]) => `${name}='${value}'`)
    return `env -i ${clean.join(' ')} '${process.execPath}' '${launcher}' ${args.join(' ')}`
  }

  /** All of these at once, in the shell of an agent; as an orphan, cut off from what started it and from its session too. */
  async inShell<W extends string>(worker: string, ways: Record<W, string>, isOrphan = false): Promise<Record<W, Said>> {
    const file = (name: string) => join(this.work, worker, name)
    const names = Object.keys(ways) as W[]
    const lines = names.map((way) => {
      const line = `( ${ways[way]} > ${way}.out 2>&1; echo $? > ${way}.code ) &`
      return isOrphan ? `( ${line} )` : line
    })
    for (const way of names) rmSync(file(`${way}.code`), { force: true })
    writeFileSync(file('draft'), [...lines, 'wait'].join('\n'))
    renameSync(file('draft'), file('go'))
    const codeOf = (way: W) => (existsSync(file(`${way}.code`)) ? readFileSync(file(`${way}.code`), 'utf8').trim() : '')
    await until(() => names.every((way) => codeOf(way) !== ''))
    const said = (way: W): Said => ({ code: Number(codeOf(way)), said: readFileSync(file(`${way}.out`), 'utf8') })
    return Object.fromEntries(names.map((way) => [way, said(way)])) as Record<W, Said>
  }
}
