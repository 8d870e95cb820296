// The panes of a lift's roles: opened beside the relay's pane, given their first prompts when their tools are ready, and ended with the lift.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { isProcessGone } from '../../../machine/is-process-gone.ts'
import { sweepWorkerProcesses } from '../../../supervisor/ending.ts'
import { runSetupCommand } from '../../../supervisor/launching.ts'
import { launcherArgs } from '../../own-name.ts'
import type { Printer } from '../../print.ts'
import { nudgeWhenIdle } from './nudge.ts'
import { writePaneOrder } from './pane.ts'
import type { TerminalPanes } from './panes.ts'
import { paneOrderFor, type RoleProgram } from './program.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'

const paneLookMs = 200
/** Time in ms to wait for a CLI's connection. After that it probably shows a dialog, or cannot connect. */
const readyMs = 45_000
/** Time in ms without a change after which a screen counts as complete: text that is typed earlier may be lost. */
const screenQuietMs = 600
const screenQuietMsMax = 10_000
/** Delay in ms between a paste and Enter: an earlier Enter is taken as a line break, or lost. */
const enterMsMin = 400
/** Time in ms to wait for the panes to end: a pane needs up to four seconds to kill its program. */
const endMs = 6_000

export interface RolePanesOptions {
  panes: TerminalPanes
  program: RoleProgram
  relay: LiftRelay
  roles: readonly string[]
  cwd: string
  env: Env
  directory: string
  print: Printer
}

interface RolePane {
  role: string
  pane: string
  pidPath: string
}

export class RolePanes {
  readonly #options: RolePanesOptions
  readonly #members: RolePane[] = []

  constructor(options: RolePanesOptions) {
    this.#options = options
  }

  /** Opens the panes one after the other, in the order of the roles. */
  async openAll(): Promise<void> {
    const { panes, roles, program, relay, cwd, env } = this.#options
    for (const role of roles) {
      const directory = join(this.#options.directory, 'panes', role)
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      const marker = this.#options.directory
      const { order, files, before } = paneOrderFor(program, { role, url: relay.url, cwd, env, directory, marker })
      for (const { path, text } of files) writeFileSync(path, text, { mode: 0o600 })
      // These commands write the user's own settings, which all roles share, so they run only before the first role.
      if (role === roles[0]) for (const { args } of before) await runSetupCommand(order.program, args, cwd, order.env)
      const path = join(directory, 'order.json')
      writePaneOrder(path, order)
      const pane = await panes.openPane(launcherArgs(['lift', 'pane', path]), { title: role, cwd })
      this.#members.push({ role, pane, pidPath: order.pidPath })
    }
    await panes.arrangePanes()
  }

  /** Gives each role its first prompt when it is ready, and then tells it whenever messages wait. */
  async sendKickoffs(ending: AbortSignal): Promise<void> {
    await Promise.all(this.#members.map((member) => this.#tell(member, ending)))
  }

  /** Ends the programs in the panes, waits for them, and ends processes that they have left in the background. */
  async closeAll(): Promise<void> {
    const { panes } = this.#options
    const pids = this.#members.map(({ pidPath }) => pidOf(pidPath))
    await Promise.all(this.#members.map(({ pane }) => panes.closePane(pane)))
    for (
      const until = performance.now() + endMs;
      performance.now() < until && pids.some((pid) => pid !== undefined && !isProcessGone(pid));
    )
      await sleep(20)
    await sweepWorkerProcesses(this.#options.directory)
  }

  async #tell({ role, pane }: RolePane, ending: AbortSignal): Promise<void> {
    const { panes, program, relay, roles, print } = this.#options
    const late = setTimeout(() => print.say(`${role} has not connected yet. Does its pane show a question?`), readyMs)
    try {
      while (!ending.aborted && !relay.roles.isReady(role)) await sleep(paneLookMs)
      while (!ending.aborted && !(await this.#isFree(pane))) await sleep(paneLookMs)
      if (ending.aborted) return
      await this.#type(pane, kickoffPrompt(role, roles, relay.url))
      print.say(`${role} is connected and has its kickoff.`)
      const newest = () => relay.roles.newestWaitingMessage(role)
      const type = (text: string) => this.#type(pane, text)
      void nudgeWhenIdle({ role, pane, panes, harness: program.harness, newest, type }, ending).catch(() => {})
    } catch (error) {
      if (!ending.aborted)
        print.say(`${role} got no kickoff: ${(error as Error).message}. Paste it: agent-relay lift prompt ${role}`)
    } finally {
      clearTimeout(late)
    }
  }

  async #type(pane: string, text: string): Promise<void> {
    const { panes, program } = this.#options
    await panes.pasteText(pane, text)
    await sleep(Math.max(enterMsMin, program.harness.typing.enterDelayMs))
    await panes.pressEnter(pane)
  }

  /** Whether the screen has stopped changing and shows no dialog. */
  async #isFree(pane: string): Promise<boolean> {
    const { panes, program } = this.#options
    let last = ''
    for (const until = performance.now() + screenQuietMsMax; performance.now() < until; await sleep(screenQuietMs)) {
      const screen = await panes.readScreen(pane)
      if (program.harness.readScreenSign(screen) === 'blocked') return false
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
    // The pane has not written its process id yet.
    return undefined
  }
}
