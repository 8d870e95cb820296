// kitty as the place of a lift: a tab of four windows, by its remote control (`kitty @`), which its owner has to allow.

import type { Env } from '@agent-relay/sdk/discover'
import { must, type Panes, run, type Stage, type View, type Where } from './panes.ts'

/** As far as it is looked at. */
interface KittyWindow {
  title: string
  is_focused: boolean
}

export class Kitty implements Panes {
  readonly #env: Env

  constructor(env: Env) {
    this.#env = env
  }

  async begin(argv: readonly string[], { title, cwd }: Where): Promise<Stage> {
    const tab = ['--type=tab', `--tab-title=${title}`, '--title=relay', `--cwd=${cwd}`]
    await this.#must('launch', [...tab, '--', ...argv])
    // A new tab is before the user already.
    return { show: async () => {}, hint: undefined }
  }

  /** `--self`: in the tab of the window that asks, whichever the user looks at meanwhile. */
  open(argv: readonly string[], { title, cwd }: Where): Promise<string> {
    const place = ['--self', '--type=window', '--keep-focus', `--title=${title}`, `--cwd=${cwd}`]
    return this.#must('launch', [...place, '--', ...argv])
  }

  async arrange(): Promise<void> {
    await this.#must('goto-layout', [`--match=window_id:${this.#env.KITTY_WINDOW_ID}`, 'grid'])
  }

  async view(pane: string): Promise<View> {
    const { stdout } = await run('kitty', ['@', 'get-text', `--match=id:${pane}`])
    return { title: (await this.#window(pane)).title ?? '', lines: stdout.split('\n') }
  }

  /** When a key was pressed, kitty does not tell. */
  async isAttended(pane: string): Promise<boolean> {
    return (await this.#window(pane)).is_focused === true
  }

  async paste(pane: string, text: string): Promise<void> {
    await this.#must('send-text', [`--match=id:${pane}`, '--bracketed-paste=enable', '--stdin'], text)
  }

  async enter(pane: string): Promise<void> {
    await this.#must('send-key', [`--match=id:${pane}`, 'enter'])
  }

  async close(pane: string): Promise<void> {
    await run('kitty', ['@', 'close-window', `--match=id:${pane}`, '--ignore-no-match'])
  }

  async #window(pane: string): Promise<Partial<KittyWindow>> {
    const { stdout } = await run('kitty', ['@', 'ls', `--match=id:${pane}`])
    try {
      const systemWindows = JSON.parse(stdout) as { tabs: { windows: KittyWindow[] }[] }[]
      return systemWindows.flatMap(({ tabs }) => tabs.flatMap(({ windows }) => windows))[0] ?? {}
    } catch {
      // It is gone.
      return {}
    }
  }

  #must(command: string, args: readonly string[], input?: string): Promise<string> {
    return must('kitty', ['@', command, ...args], input)
  }
}
