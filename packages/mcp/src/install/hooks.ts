// The hooks that hand waiting messages to Claude Code, Codex and Gemini CLI at a turn's boundary. Opt in: they run at every turn of the user's own
// sessions. What a hook does when it runs is hook.cts. No waiter that wakes an idle session (asyncRewake): `claude -p` does not end before it does.

import type { Slot } from '../careful/index.ts'
import { type Editor, homeBy, joined, type Surroundings } from './editor.ts'
import { geminiHome } from './editors/gemini.ts'
import { installed } from './surroundings.ts'

/** A turn waits for these: they must not hold it up when the daemon is busy. */
const hookSeconds = 5

export interface Hook {
  file: string
  keyPath: readonly string[]
  slot: Slot
  value: unknown
}

interface HookRule {
  file(around: Surroundings, isProject: boolean): string
  events: string[]
  timeout: number
}

const rules: Record<string, HookRule> = {
  claude: {
    file: (around, isProject) =>
      isProject
        ? joined(around, around.project, '.claude', 'settings.json')
        : joined(around, homeBy(around, 'CLAUDE_CONFIG_DIR', '.claude'), 'settings.json'),
    events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
    timeout: hookSeconds,
  },
  codex: {
    file: (around, isProject) =>
      isProject
        ? joined(around, around.project, '.codex', 'hooks.json')
        : joined(around, homeBy(around, 'CODEX_HOME', '.codex'), 'hooks.json'),
    events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
    timeout: hookSeconds,
  },
  gemini: {
    file: (around, isProject) =>
      joined(around, isProject ? joined(around, around.project, '.gemini') : geminiHome(around), 'settings.json'),
    events: ['SessionStart', 'BeforeAgent', 'AfterAgent'],
    // In milliseconds there.
    timeout: hookSeconds * 1000,
  },
}

export const hookEditors: readonly string[] = Object.keys(rules)

/** None where the editor has no hooks of this kind. */
export function hooksOf({ name }: Editor, around: Surroundings, isProject: boolean): Hook[] {
  const rule = rules[name]
  if (!rule) return []
  const file = rule.file(around, isProject)
  return rule.events.map((event) => ({
    file,
    keyPath: ['hooks', event],
    slot: { mark: ` hook ${event} --cli ${name}` },
    value: { hooks: [{ type: 'command', command: commandOf(event, name), timeout: rule.timeout }] },
  }))
}

/** For the shell that runs it. */
function commandOf(event: string, cli: string): string {
  const { command, args } = installed(['hook', event, '--cli', cli])
  return [command, ...args].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(' ')
}

function quoted(word: string): string {
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`
}
