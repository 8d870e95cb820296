// The signs on each CLI's screen and title, tested on pieces of screens of the real ones (versions in the harness files).

import { describe, expect, test } from 'vitest'
import type { ScreenSign } from '../../src/supervisor/harness/harness.ts'
import { harnessOf } from '../../src/supervisor/harness/index.ts'

type Screen = [sign: ScreenSign | undefined, title: string, ...lines: string[]]

const screens: Record<string, Screen[]> = {
  claude: [
    ['idle', '✳ Claude Code', '❯ ', '──────', '  ⏵⏵ auto mode on (shift+tab to cycle)'],
    ['busy', '◐ Claude Code', '· Considering… (2s · ↓ 10 tokens)', '❯ ', '  ⏵⏵ auto mode on · esc to interrupt'],
    ['busy', '✳ Claude Code', '❯ ', '  ⏵⏵ auto mode on (shift+tab to cycle) · esc to interrupt'],
    ['blocked', '', ' ❯ No, exit', '   Yes, I trust this folder', ' Enter to confirm · Esc to cancel'],
    ['blocked', '✳ Claude Code', ' Do you want to proceed?', ' ❯ 1. Yes', '   2. No', ' Esc to cancel · Tab to amend'],
    ['busy', '', ''],
    [undefined, '', 'starting'],
  ],
  codex: [
    ['idle', 'work', '› Ask Codex to do anything', '  fake-model default · /work', '  ? for shortcuts'],
    ['busy', '⠹ work', '• word word', '› Ask Codex to do anything', '  fake-model default · /work'],
    ['blocked', '[ ! ] Action Required | work', '› 1. Yes, proceed (y)'],
    [
      'blocked',
      'work',
      '  Would you like to run the following command?',
      '  Press enter to confirm or esc to cancel',
      '',
    ],
    ['busy', '', ''],
    [undefined, '', 'starting'],
  ],
  opencode: [
    ['idle', 'OpenCode', '  ┃  Agent-Relay · fake-model fake', '   tab agents  ctrl+p commands'],
    ['idle', 'OC | a title', '  ┃  Agent-Relay · fake-model fake', '   /work        15  ctrl+p commands'],
    ['busy', 'OC | a title', '   ⬝⬝■■■■■■  esc interrupt        15  ctrl+p commands'],
    ['busy', 'OC | a title', '   ⬝⬝⬝⬝⬝⬝⬝⬝  esc again to interrupt        15  ctrl+p commands'],
    [
      'blocked',
      'OC | a title',
      '  ┃  △ Permission required',
      '  ┃   Allow once   Allow always   Reject    enter confirm',
    ],
    ['busy', 'OpenCode', ''],
    [undefined, '', 'starting'],
  ],
  gemini: [
    ['idle', '◇  Ready (work)      ', ' >   Type your message or @path/to/file'],
    ['busy', '✦  Working… (work)    ', ' ⠼ Thinking... (esc to cancel, 2s)', ' >   Type your message or @path/to/file'],
    ['blocked', '✋  Action Required (work)  ', '│ ● 1. Allow once                      │'],
    [
      'blocked',
      '◇  Ready (work)  ',
      ' │ ?  A potential loop was detected  │',
      ' │ ● 1. Keep loop detection enabled (esc)  │',
    ],
    ['busy', '', ''],
    [undefined, '', 'starting'],
  ],
  droid: [
    ['idle', 'New Session', '│ > Try "Add proper error handling"    │', '╰────╯', '? for help        IDE ◌'],
    [
      'idle',
      'a title',
      ' Auto (Off)       Fake',
      '╭────╮',
      '│ >    │',
      '╰────╯',
      '[⏱ 7s] ? for help        MCP ✓ | IDE ◌',
    ],
    [
      'busy',
      'a title',
      ' ⠆ Streaming...  (Press ESC to stop)',
      ' Auto (Off) · all actions require approval       Fake',
      ...[
        '╭────╮',
        '│ > Enter to steer · Ctrl+Enter to queue    │',
        '╰────╯',
        '[⏱ 1s] ? for help        MCP ✓ | IDE ◌',
      ],
    ],
    ['blocked', 'Droid', '> 1. Trust this folder', '  2. Exit without trusting', 'Enter to confirm · Esc to exit'],
    ['blocked', 'Droid', 'Please login with your Factory account to continue.', '> Login', '  Exit'],
    [
      'blocked',
      'a title',
      '│  No, cancel    │',
      '╰────╯',
      '  ↑↓ navigate   Enter select   Esc cancel   Alt/Option+E to inspect',
    ],
    ['busy', '', ''],
    [undefined, '', 'Checking authentication...'],
  ],
}

describe.each(Object.entries(screens))('%s', (cli, cases) => {
  test.each(cases)('%s: %j %j', (sign, title, ...lines) => {
    expect(harnessOf(cli)?.readScreenSign({ title, lines })).toBe(sign)
  })
})

test('what an agent says is not a sign, even right above the prompt', () => {
  const said = ['Do you want to proceed?', ' Enter to confirm · Esc to cancel', 'esc to interrupt']
  const lines = [...said, '─────', '❯ ', '─────', '  ⏵⏵ auto mode on (shift+tab to cycle)', '', '']
  expect(harnessOf('claude')?.readScreenSign({ title: '✳ Claude Code', lines })).toBe('idle')
})
