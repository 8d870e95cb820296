// The panes of the roles: opened beside the relay's pane, given their kickoff when their tools are ready, and ended with the lift.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { isGone } from '../../../machine/is-gone.ts'
import { sweep } from '../../../supervisor/ending.ts'
import { runBefore } from '../../../supervisor/launching.ts'
import { launcherArgs } from '../../own-name.ts'
import type { Print } from '../../print.ts'
import { nudge } from './nudge.ts'
import { writeOrder } from './pane.ts'
import type { Panes } from './panes.ts'
import { orderOf, type Program } from './program.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'

const paneLookMs = 200
/** A CLI that has not connected after this time is waiting at a dialog, or cannot connect. */
const readyMs = 45_000
/** A screen that has not changed for this long is complete. Text typed earlier may be lost. */
const screenQuietMs = 600
const screenQuietMsMax = 10_000
/** An Enter too soon after a paste is taken as a line break, or lost. */
const enterMsMin = 400
/** A pane needs up to four seconds to end a program that resists. */
const endMs = 6_000

export interface RolePanesOptions {
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

export class RolePanes {
  readonly #options: RolePanesOptions
  readonly #members: Member[] = []

  constructor(options: RolePanesOptions) {
    this.#options = options
  }

  /** Opens the panes one after the other, in the order of the roles. */
  async open(): Promise<void> {
    const { panes, roles, program, relay, cwd, env } = this.#options
    for (const role of roles) {
      const directory = join(this.#options.directory, 'panes', role)
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      const marker = this.#options.directory
      const { order, files, before } = orderOf(program, { role, url: relay.url, cwd, env, directory, marker })
      for (const { path, text } of files) writeFileSync(path, text, { mode: 0o600 })
      // Runs once for all roles, because it writes the user's own settings, which they share.
      if (role === roles[0]) for (const { args } of before) await runBefore(order.program, args, cwd, order.env)
      const path = join(directory, 'order.json')
      writeOrder(path, order)
      const pane = await panes.open(launcherArgs(['lift', 'pane', path]), { title: role, cwd })
      this.#members.push({ role, pane, pidPath: order.pidPath })
    }
    await panes.arrange()
  }

  /** Gives each role its kickoff as soon as it is ready, and tells it about waiting messages from then on. */
  async kickoff(ending: AbortSignal): Promise<void> {
    await Promise.all(this.#members.map((member) => this.#tell(member, ending)))
  }

  /** Ends the programs in the panes, waits for them, and ends what they left in the background. */
  async close(): Promise<void> {
    const { panes } = this.#options
    const pids = this.#members.map(({ pidPath }) => pidOf(pidPath))
    await Promise.all(this.#members.map(({ pane }) => panes.close(pane)))
    for (
      const until = performance.now() + endMs;
      performance.now() < until && pids.some((pid) => pid !== undefined && !isGone(pid));
    )
      await sleep(20)
    await sweep(this.#options.directory)
  }

  async #tell({ role, pane }: Member, ending: AbortSignal): Promise<void> {
    const { panes, program, relay, roles, print } = this.#options
    const late = setTimeout(() => print.say(`${role} has not connected yet. Does its pane show a question?`), readyMs)
    try {
      while (!ending.aborted && !relay.roles.isReady(role)) await sleep(paneLookMs)
      while (!ending.aborted && !(await this.#isFree(pane))) await sleep(paneLookMs)
      if (ending.aborted) return
      await this.#type(pane, kickoffPrompt(role, roles, relay.url))
      print.say(`${role} is connected and has its kickoff.`)
      const newest = () => relay.roles.newestFor(role)
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

  /** Whether the screen is complete and shows no dialog. */
  async #isFree(pane: string): Promise<boolean> {
    const { panes, program } = this.#options
    let last = ''
    for (const until = performance.now() + screenQuietMsMax; performance.now() < until; await sleep(screenQuietMs)) {
      const screen = await panes.screen(pane)
      if (program.harness.read(screen) === 'blocked') return false
      const text = screen.lines.join('\n')
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
    // The pane had not started yet.
    return undefined
  }
}
