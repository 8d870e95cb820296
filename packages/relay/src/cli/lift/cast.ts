// The panes of the roles: opened beside the relay's, told their kickoff when their tools are there, and ended with the lift.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '@agent-relay/sdk/discover'
import { sweep } from '../../supervisor/ending.ts'
import { runBefore } from '../../supervisor/launching.ts'
import { launcherArgs } from '../launcher.ts'
import type { Print } from '../print.ts'
import { nudge } from './nudge.ts'
import { writeOrder } from './pane.ts'
import type { Panes } from './panes.ts'
import { orderOf, type Program } from './program.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'

const lookMs = 200
/** A CLI that has not connected by then stands before a dialog, or cannot. */
const readyMs = 45_000
/** A screen that does not change for so long has been drawn: what is typed before may be thrown away. */
const quietMs = 600
const quietMsMax = 10_000
/** Enter too soon after a paste is taken for a line break, or lost. */
const enterMsMin = 400
/** The pane's own process needs up to four seconds for a program that does not want to go. */
const endMs = 6_000

export interface CastOptions {
  panes: Panes
  program: Program
  relay: LiftRelay
  roles: readonly string[]
  cwd: string
  env: Env
  directory: string
  print: Print
}

interface Member {
  role: string
  pane: string
  pidPath: string
}

export class Cast {
  readonly #options: CastOptions
  readonly #members: Member[] = []

  constructor(options: CastOptions) {
    this.#options = options
  }

  /** One after the other, in the order of the roles. */
  async enter(): Promise<void> {
    const { panes, roles, program, relay, cwd, env } = this.#options
    for (const role of roles) {
      const directory = join(this.#options.directory, 'panes', role)
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      const marker = this.#options.directory
      const { order, files, before } = orderOf(program, { role, url: relay.url, cwd, env, directory, marker })
      for (const { path, text } of files) writeFileSync(path, text, { mode: 0o600 })
      // It writes the user's own settings, the same for every role.
      if (role === roles[0]) for (const { args } of before) await runBefore(order.program, args, cwd, order.env)
      const path = join(directory, 'order.json')
      writeOrder(path, order)
      const pane = await panes.open(launcherArgs(['lift', 'pane', path]), { title: role, cwd })
      this.#members.push({ role, pane, pidPath: order.pidPath })
    }
    await panes.arrange()
  }

  /** Each role as soon as it is ready; says of those that are not what to do. From then on it is told of what waits. */
  async kickoff(ending: AbortSignal): Promise<void> {
    await Promise.all(this.#members.map((member) => this.#tell(member, ending)))
  }

  /** Ends what runs in the panes, waits until it has ended, and ends what that has left behind in the background. */
  async leave(): Promise<void> {
    const { panes } = this.#options
    const pids = this.#members.map(({ pidPath }) => pidOf(pidPath))
    await Promise.all(this.#members.map(({ pane }) => panes.close(pane)))
    for (const until = Date.now() + endMs; Date.now() < until && pids.some(isAlive); ) await sleep(20)
    await sweep(this.#options.directory)
  }

  async #tell({ role, pane }: Member, ending: AbortSignal): Promise<void> {
    const { panes, program, relay, roles, print } = this.#options
    const late = setTimeout(() => print.say(`${role} has not connected yet. Does its pane show a question?`), readyMs)
    try {
      while (!ending.aborted && !relay.isReady(role)) await sleep(lookMs)
      while (!ending.aborted && !(await this.#isFree(pane))) await sleep(lookMs)
      if (ending.aborted) return
      await this.#type(pane, kickoffPrompt(role, roles, relay.url))
      print.say(`${role} is here and has its kickoff.`)
      const newest = () => relay.newestFor(role)
      const type = (text: string) => this.#type(pane, text)
      void nudge({ role, pane, panes, harness: program.harness, newest, type }, ending).catch(() => {})
    } catch (error) {
      if (!ending.aborted)
        print.say(`${role} got no kickoff: ${(error as Error).message}. Paste it: agent-relay lift prompt ${role}`)
    } finally {
      clearTimeout(late)
    }
  }

  async #type(pane: string, text: string): Promise<void> {
    const { panes, program } = this.#options
    await panes.paste(pane, text)
    await sleep(Math.max(enterMsMin, program.harness.typing.enterDelayMs))
    await panes.enter(pane)
  }

  /** Drawn, and no dialog in the way. */
  async #isFree(pane: string): Promise<boolean> {
    const { panes, program } = this.#options
    let last = ''
    for (const until = Date.now() + quietMsMax; Date.now() < until; await sleep(quietMs)) {
      const view = await panes.view(pane)
      if (program.harness.read(view) === 'blocked') return false
      const text = view.lines.join('\n')
      if (text === last) return true
      last = text
    }
    return true
  }
}

function pidOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    // It had not come so far.
    return undefined
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
