// Panes in the terminal kitty: windows of one tab, opened by kitty's remote control (`kitty @`), which the user must have allowed.

import type { Env } from '@agent-relay/sdk/internal/discover'
import { type LiftWindow, type PanePlace, type PaneScreen, runOrFail, runProgram, type TerminalPanes } from './panes.ts'

/** The fields that we use of a window in the output of `kitty @ ls`. */
interface KittyWindow {
  title: string
  is_focused: boolean
}

export class KittyPanes implements TerminalPanes {
  readonly #env: Env

  constructor(env: Env) {
    this.#env = env
  }

  async openWindow(argv: readonly string[], { title, cwd }: PanePlace): Promise<LiftWindow> {
    const tab = ['--type=tab', `--tab-title=${title}`, '--title=relay', `--cwd=${cwd}`]
    await this.#must('launch', [...tab, '--', ...argv])
    // kitty shows a new tab by itself.
    return { show: async () => {}, showCommand: undefined }
  }

  /** Opens the pane in the tab of this window (`--self`), even if the user looks at another tab. */
  openPane(argv: readonly string[], { title, cwd }: PanePlace): Promise<string> {
    const place = ['--self', '--type=window', '--keep-focus', `--title=${title}`, `--cwd=${cwd}`]
    return this.#must('launch', [...place, '--', ...argv])
  }

  async arrangePanes(): Promise<void> {
    await this.#must('goto-layout', [`--match=window_id:${this.#env.KITTY_WINDOW_ID}`, 'grid'])
  }

  async readScreen(pane: string): Promise<PaneScreen> {
    const { stdout } = await runProgram('kitty', ['@', 'get-text', `--match=id:${pane}`])
    return { title: (await this.#window(pane)).title ?? '', lines: stdout.split('\n') }
  }

  /** Whether the pane has the focus, as the best guess: kitty does not tell when a key was pressed. */
  async isAttended(pane: string): Promise<boolean> {
    return (await this.#window(pane)).is_focused === true
  }

  async pasteText(pane: string, text: string): Promise<void> {
    await this.#must('send-text', [`--match=id:${pane}`, '--bracketed-paste=enable', '--stdin'], text)
  }

  async pressEnter(pane: string): Promise<void> {
    await this.#must('send-key', [`--match=id:${pane}`, 'enter'])
  }

  async closePane(pane: string): Promise<void> {
    await runProgram('kitty', ['@', 'close-window', `--match=id:${pane}`, '--ignore-no-match'])
  }

  async #window(pane: string): Promise<Partial<KittyWindow>> {
    const { stdout } = await runProgram('kitty', ['@', 'ls', `--match=id:${pane}`])
    try {
      const systemWindows = JSON.parse(stdout) as { tabs: { windows: KittyWindow[] }[] }[]
      return systemWindows.flatMap(({ tabs }) => tabs.flatMap(({ windows }) => windows))[0] ?? {}
    } catch {
      // The window was closed.
      return {}
    }
  }

  #must(command: string, args: readonly string[], input?: string): Promise<string> {
    return runOrFail('kitty', ['@', command, ...args], input)
  }
}
