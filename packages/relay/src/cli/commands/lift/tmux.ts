// Panes in tmux: a window of panes, addressed by tmux's own ids, never by name.

import { spawn } from 'node:child_process'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { hasPassed } from '../../../machine/clock.ts'
import { attendedMs, type LiftWindow, must, type PaneScreen, type Panes, run, type Where } from './panes.ts'

/** The size of a session until somebody attaches to it. */
const detachedSize = ['-x', '200', '-y', '50']

export class Tmux implements Panes {
  readonly #env: Env
  readonly #session: string | undefined
  readonly #hasTerminal: boolean
  #last: string | undefined

  /** `session` is the name of a new tmux session, if one is needed. */
  constructor(env: Env, session: string | undefined, hasTerminal: boolean) {
    this.#env = env
    this.#session = session
    this.#hasTerminal = hasTerminal
  }

  async begin(argv: readonly string[], { title, cwd }: Where): Promise<LiftWindow> {
    const what = ['-n', title, '-c', cwd, '--', ...argv]
    if (this.#env.TMUX) {
      const window = await must('tmux', ['new-window', '-d', '-P', '-F', '#{window_id}', ...what])
      return { show: async () => void (await must('tmux', ['select-window', '-t', window])), hint: undefined }
    }
    const name = this.#session === undefined ? [] : ['-s', this.#session]
    const format = ['-P', '-F', '#{session_name}']
    const session = await must('tmux', ['new-session', '-d', ...format, ...name, ...detachedSize, ...what])
    return {
      show: () => (this.#hasTerminal ? attach(session) : Promise.resolve()),
      // `=` for the exact name: `-t lift` would also find lift-2.
      hint: `tmux attach -t =${session}`,
    }
  }

  async open(argv: readonly string[], { title, cwd }: Where): Promise<string> {
    const own = this.#own()
    // The new pane goes behind the last one, to keep the order of the roles.
    const pane = await must('tmux', [
      'split-window',
      ...['-d', '-P', '-F', '#{pane_id}', '-t', this.#last ?? own, '-c', cwd],
      ...['--', ...argv],
    ])
    this.#last = pane
    // A program may change the title of its pane; this label stays.
    await this.#label(pane, title)
    // Arranged after each pane: one that is halved again and again soon has no room for the next.
    await must('tmux', ['select-layout', '-t', own, 'tiled'])
    return pane
  }

  async arrange(): Promise<void> {
    const own = this.#own()
    await this.#label(own, 'relay')
    await must('tmux', ['set-option', '-w', '-t', own, 'pane-border-format', ' #{@relay_role} '])
    await must('tmux', ['set-option', '-w', '-t', own, 'pane-border-status', 'top'])
    await must('tmux', ['select-layout', '-t', own, 'tiled'])
  }

  async screen(pane: string): Promise<PaneScreen> {
    const { stdout } = await run('tmux', ['capture-pane', '-p', '-t', pane])
    const { stdout: title } = await run('tmux', ['display-message', '-p', '-t', pane, '#{pane_title}'])
    return { title: title.trim(), lines: stdout.split('\n') }
  }

  async isAttended(pane: string): Promise<boolean> {
    const { stdout } = await run('tmux', ['list-clients', '-F', '#{pane_id} #{client_activity}'])
    return stdout.split('\n').some((row) => {
      const [there, seconds] = row.split(' ')
      return there === pane && !hasPassed(attendedMs, Number(seconds) * 1_000, Date.now())
    })
  }

  async paste(pane: string, text: string): Promise<void> {
    const buffer = `relay-${process.pid}-${pane.slice(1)}`
    await must('tmux', ['load-buffer', '-b', buffer, '-'], text)
    await must('tmux', ['paste-buffer', '-p', '-d', '-b', buffer, '-t', pane])
  }

  async enter(pane: string): Promise<void> {
    await must('tmux', ['send-keys', '-t', pane, 'Enter'])
  }

  async close(pane: string): Promise<void> {
    await run('tmux', ['kill-pane', '-t', pane])
  }

  async #label(pane: string, title: string): Promise<void> {
    await must('tmux', ['set-option', '-p', '-t', pane, '@relay_role', title])
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
