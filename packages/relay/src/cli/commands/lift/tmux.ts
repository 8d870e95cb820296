// Panes in tmux: the panes of one window. They are addressed by tmux's ids, not by names, which need not be unique.

import { spawn } from 'node:child_process'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { hasPassed } from '../../../machine/clock.ts'
import {
  type LiftWindow,
  type PanePlace,
  type PaneScreen,
  runOrFail,
  runProgram,
  type TerminalPanes,
  userIdleMs,
} from './panes.ts'

/** Size of a tmux session (columns, rows) while no terminal is attached to it. */
const detachedSize = ['-x', '200', '-y', '50']

export class TmuxPanes implements TerminalPanes {
  readonly #env: Env
  readonly #session: string | undefined
  readonly #hasTerminal: boolean
  #last: string | undefined

  /** `session`: the name of the tmux session to create, if this process runs outside tmux. */
  constructor(env: Env, session: string | undefined, hasTerminal: boolean) {
    this.#env = env
    this.#session = session
    this.#hasTerminal = hasTerminal
  }

  async openWindow(argv: readonly string[], { title, cwd }: PanePlace): Promise<LiftWindow> {
    const what = ['-n', title, '-c', cwd, '--', ...argv]
    if (this.#env.TMUX) {
      const window = await runOrFail('tmux', ['new-window', '-d', '-P', '-F', '#{window_id}', ...what])
      return {
        show: async () => void (await runOrFail('tmux', ['select-window', '-t', window])),
        showCommand: undefined,
      }
    }
    const name = this.#session === undefined ? [] : ['-s', this.#session]
    const format = ['-P', '-F', '#{session_name}']
    const session = await runOrFail('tmux', ['new-session', '-d', ...format, ...name, ...detachedSize, ...what])
    return {
      show: () => (this.#hasTerminal ? attach(session) : Promise.resolve()),
      // With `=`, the name must match exactly: `-t lift` would also match a session lift-2.
      showCommand: `tmux attach -t =${session}`,
    }
  }

  async openPane(argv: readonly string[], { title, cwd }: PanePlace): Promise<string> {
    const own = this.#own()
    // The new pane is placed after the last one, so that the panes have the order of the roles.
    const pane = await runOrFail('tmux', [
      'split-window',
      ...['-d', '-P', '-F', '#{pane_id}', '-t', this.#last ?? own, '-c', cwd],
      ...['--', ...argv],
    ])
    this.#last = pane
    // The label is set besides the title, since a program may change its pane's title.
    await this.#label(pane, title)
    // The panes are arranged after each split: if the last one were halved again and again, it would soon be too small to split.
    await runOrFail('tmux', ['select-layout', '-t', own, 'tiled'])
    return pane
  }

  async arrangePanes(): Promise<void> {
    const own = this.#own()
    await this.#label(own, 'relay')
    await runOrFail('tmux', ['set-option', '-w', '-t', own, 'pane-border-format', ' #{@relay_role} '])
    await runOrFail('tmux', ['set-option', '-w', '-t', own, 'pane-border-status', 'top'])
    await runOrFail('tmux', ['select-layout', '-t', own, 'tiled'])
  }

  async readScreen(pane: string): Promise<PaneScreen> {
    const { stdout } = await runProgram('tmux', ['capture-pane', '-p', '-t', pane])
    const { stdout: title } = await runProgram('tmux', ['display-message', '-p', '-t', pane, '#{pane_title}'])
    return { title: title.trim(), lines: stdout.split('\n') }
  }

  async isAttended(pane: string): Promise<boolean> {
    const { stdout } = await runProgram('tmux', ['list-clients', '-F', '#{pane_id} #{client_activity}'])
    return stdout.split('\n').some((row) => {
      const [there, seconds] = row.split(' ')
      return there === pane && !hasPassed(userIdleMs, Number(seconds) * 1_000, Date.now())
    })
  }

  async pasteText(pane: string, text: string): Promise<void> {
    const buffer = `relay-${process.pid}-${pane.slice(1)}`
    await runOrFail('tmux', ['load-buffer', '-b', buffer, '-'], text)
    await runOrFail('tmux', ['paste-buffer', '-p', '-d', '-b', buffer, '-t', pane])
  }

  async pressEnter(pane: string): Promise<void> {
    await runOrFail('tmux', ['send-keys', '-t', pane, 'Enter'])
  }

  async closePane(pane: string): Promise<void> {
    await runProgram('tmux', ['kill-pane', '-t', pane])
  }

  async #label(pane: string, title: string): Promise<void> {
    await runOrFail('tmux', ['set-option', '-p', '-t', pane, '@relay_role', title])
  }

  #own(): string {
    return this.#env.TMUX_PANE as string
  }
}

function attach(session: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('tmux', ['attach-session', '-t', `=${session}`], { stdio: 'inherit' })
    child.once('error', reject)
    child.once('close', () => resolve())
  })
}
