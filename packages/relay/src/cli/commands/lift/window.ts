// A lift in a window of tmux or kitty: the typed command opens the window and waits, and the relay runs in it (`lift relay DIRECTORY`). The two processes
// exchange files in the lift's private directory. One of these has the user's environment, since the multiplexer's server may have been started with another
// one.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listText } from '@agent-relay/sdk/internal/clis'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { CommandError, exitCodes } from '../../command.ts'
import { endingSignal } from '../../ending.ts'
import { describeFailure } from '../../exit.ts'
import { launcherArgs } from '../../own-name.ts'
import type { Printer } from '../../print.ts'
import { liftBanner } from './banner.ts'
import { KittyPanes } from './kitty.ts'
import { paneVariables } from './pane.ts'
import type { TerminalPanes } from './panes.ts'
import { findRoleProgram } from './program.ts'
import { LiftRelay, newLiftDirectory, removeLiftDirectory } from './relay.ts'
import { RolePanes } from './role-panes.ts'
import { TmuxPanes } from './tmux.ts'

export interface LiftPlan {
  kind: 'tmux' | 'kitty'
  roles: string[]
  port: number
  cli: string
  cwd: string
  isKept: boolean
  env: Env
}

/** How the start went: the relay's pane writes this, and the typed command reads it. */
type LiftStart = { url: string; page: string } | { error: string; exit: number }

/** Timeout in ms for the start: a daemon takes half a second, but preparing a CLI may take long. */
const liftStartMs = 60_000
const startLookMs = 50

export async function openLiftWindow(plan: LiftPlan, print: Printer): Promise<void> {
  const directory = newLiftDirectory()
  write(directory, 'plan.json', plan)
  const window = await panesOf(plan, plan.env)
    .openWindow(launcherArgs(['lift', 'relay', directory]), { title: 'lift', cwd: plan.cwd })
    .catch((error) => {
      removeLiftDirectory(directory)
      throw error
    })
  const state = await print.during('starting', stateIn(directory))
  if ('error' in state) {
    removeLiftDirectory(directory)
    throw new CommandError(state.error, state.exit)
  }
  await window.show()
  // The typed command ends here, and the lift continues in its window.
  if (!existsSync(directory)) return
  await print.line(`The lift of ${listText(plan.roles)} runs at ${state.url}.`)
  await print.line(`Its page: ${state.page}      once, within five minutes`)
  if (window.showCommand) await print.line(`To see it: ${window.showCommand}`)
  await print.line("To end it: Ctrl-C in the relay's pane.")
}

/** Runs the lift's relay in its own pane, until Ctrl-C. */
export async function runRelayPane(directory: string, print: Printer, own: Env): Promise<void> {
  const plan = JSON.parse(readFileSync(join(directory, 'plan.json'), 'utf8')) as LiftPlan
  rmSync(join(directory, 'plan.json'))
  const { roles, port, cwd, isKept } = plan
  const ending = endingSignal()
  let relay: LiftRelay | undefined
  let rolePanes: RolePanes | undefined
  try {
    const program = findRoleProgram(plan.cli, cwd, plan.env)
    relay = await LiftRelay.start({ roles, port, directory, keepIn: isKept ? cwd : undefined }, print)
    // The variables that name this pane are only in this process's environment.
    const env = { ...plan.env, ...paneVariables(own) }
    rolePanes = new RolePanes({ panes: panesOf(plan, env), program, relay, roles, cwd, env, directory, print })
    // The link is made before the panes open: once agents are connected, only a person at a terminal may have one.
    const page = await relay.pageLink()
    await rolePanes.openAll()
    await print.line(liftBanner(print, relay, roles, { page, isKept, isInPane: true }))
    write(directory, 'state.json', { url: relay.url, page } satisfies LiftStart)
    void rolePanes.sendKickoffs(ending)
    await relay.showMessages(print, ending)
    print.say('ending the lift.')
  } catch (error) {
    const { text, exit } = await describeFailure(error)
    write(directory, 'state.json', { error: text, exit } satisfies LiftStart)
    throw error
  } finally {
    await rolePanes?.closeAll()
    await relay?.stop()
    if (isBegun(directory)) removeLiftDirectory(directory)
  }
}

function panesOf({ kind, port }: LiftPlan, env: Env): TerminalPanes {
  if (kind === 'kitty') return new KittyPanes(env)
  const hasTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
  return new TmuxPanes(env, port === 0 ? undefined : `lift-${port}`, hasTerminal)
}

async function stateIn(directory: string): Promise<LiftStart> {
  for (const until = performance.now() + liftStartMs; performance.now() < until; await sleep(startLookMs)) {
    const state = read(directory)
    if (state) return state
  }
  return { error: 'The lift did not start: its pane said nothing for a minute.', exit: exitCodes.refused }
}

/** Whether the lift has started. If the start failed, the directory is kept, since the typed command reads the reason there. */
function isBegun(directory: string): boolean {
  const state = read(directory)
  return state !== undefined && !('error' in state)
}

function read(directory: string): LiftStart | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, 'state.json'), 'utf8')) as LiftStart
  } catch {
    return undefined
  }
}

/** Writes a file under another name and renames it, since the other process may read at any moment and must find it whole. */
function write(directory: string, name: string, value: object): void {
  const path = join(directory, name)
  writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
