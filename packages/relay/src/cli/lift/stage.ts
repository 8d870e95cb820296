// A lift in a multiplexer: the command that was typed opens the place and waits; the relay runs there, by `lift stage DIRECTORY`. What the one
// tells the other lies in the lift's private directory, the user's environment too: a multiplexer's server may have been started with another.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '@agent-relay/sdk/discover'
import { CommandError, exits } from '../command.ts'
import { awaitEnding } from '../ending.ts'
import { failureOf } from '../exit.ts'
import { launcherArgs } from '../launcher.ts'
import type { Print } from '../print.ts'
import { listOf } from '../text.ts'
import { banner } from './banner.ts'
import { Cast } from './cast.ts'
import { Kitty } from './kitty.ts'
import type { Panes } from './panes.ts'
import { findProgram } from './program.ts'
import { forget, LiftRelay, newDirectory } from './relay.ts'
import { Tmux } from './tmux.ts'

export interface Plan {
  kind: 'tmux' | 'kitty'
  roles: string[]
  port: number
  cli: string
  cwd: string
  isKept: boolean
  env: Env
}

/** What became of the start. */
type State = { url: string } | { error: string; exit: number }

/** A daemon starts within half a second, but a CLI may have to be prepared. */
const startMs = 60_000
const lookMs = 50

export async function begin(plan: Plan, print: Print): Promise<void> {
  const directory = newDirectory()
  write(directory, 'plan.json', plan)
  const stage = await panesOf(plan, plan.env)
    .begin(launcherArgs(['lift', 'stage', directory]), { title: 'lift', cwd: plan.cwd })
    .catch((error) => {
      forget(directory)
      throw error
    })
  const state = await print.during('starting', stateIn(directory))
  if ('error' in state) {
    forget(directory)
    throw new CommandError(state.error, state.exit)
  }
  await stage.show()
  // Shown and left again, or never shown: it goes on without us.
  if (!existsSync(directory)) return
  await print.line(`The lift of ${listOf(plan.roles)} runs at ${state.url}.`)
  if (stage.hint) await print.line(`To see it: ${stage.hint}`)
  await print.line("To end it: Ctrl-C in the relay's pane.")
}

/** In the relay's own pane, until Ctrl-C. */
export async function play(directory: string, print: Print, own: Env): Promise<void> {
  const plan = JSON.parse(readFileSync(join(directory, 'plan.json'), 'utf8')) as Plan
  rmSync(join(directory, 'plan.json'))
  const { roles, port, cwd, isKept } = plan
  const ending = awaitEnding()
  let relay: LiftRelay | undefined
  let cast: Cast | undefined
  try {
    const program = findProgram(plan.cli, cwd, plan.env)
    relay = await LiftRelay.start({ roles, port, directory, keepIn: isKept ? cwd : undefined }, print)
    // Where this pane is, only its own environment knows.
    const env = { ...plan.env, ...placeOf(own) }
    cast = new Cast({ panes: panesOf(plan, env), program, relay, roles, cwd, env, directory, print })
    await cast.enter()
    await print.line(banner(print, relay, roles, { isKept, isInPane: true }))
    write(directory, 'state.json', { url: relay.url } satisfies State)
    void cast.kickoff(ending)
    await relay.feed(print, ending)
    print.say('ending the lift.')
  } catch (error) {
    const { text, exit } = await failureOf(error)
    write(directory, 'state.json', { error: text, exit } satisfies State)
    throw error
  } finally {
    await cast?.leave()
    await relay?.stop()
    if (isBegun(directory)) forget(directory)
  }
}

/** The values that say in which pane or window a program runs. */
function placeOf({ TMUX, TMUX_PANE, KITTY_WINDOW_ID, KITTY_LISTEN_ON, KITTY_PID, TERM }: Env): Env {
  return { TMUX, TMUX_PANE, KITTY_WINDOW_ID, KITTY_LISTEN_ON, KITTY_PID, TERM }
}

function panesOf({ kind, port }: Plan, env: Env): Panes {
  if (kind === 'kitty') return new Kitty(env)
  const hasTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
  return new Tmux(env, port === 0 ? undefined : `lift-${port}`, hasTerminal)
}

async function stateIn(directory: string): Promise<State> {
  for (const until = Date.now() + startMs; Date.now() < until; await sleep(lookMs)) {
    const state = read(directory)
    if (state) return state
  }
  return { error: 'The lift did not start: its pane said nothing for a minute.', exit: exits.refused }
}

/** A start that failed leaves its reason to who asked for it. */
function isBegun(directory: string): boolean {
  const state = read(directory)
  return state !== undefined && !('error' in state)
}

function read(directory: string): State | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, 'state.json'), 'utf8')) as State
  } catch {
    return undefined
  }
}

/** Whole or not at all: the other one looks at any moment. */
function write(directory: string, name: string, value: object): void {
  const path = join(directory, name)
  writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
