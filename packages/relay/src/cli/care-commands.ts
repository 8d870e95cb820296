// The commands that look after an installation, as people see them in `--help`: setup, doctor, completion, and adding the server to editors.

import type { CommandRule, OptionRule } from './rule.ts'

/** Said here as well: help and completion do not load the installer. */
const editorNames = 'claude claude-desktop cursor vscode windsurf zed codex gemini opencode droid copilot qwen'.split(
  ' ',
)
const editor: OptionRule = {
  flags: '-e, --editor <name>',
  text: 'which: a name (claude, cursor, codex, …), auto (those that are found) or all',
  words: ['auto', 'all', ...editorNames],
  isList: true,
}
const hooks: OptionRule = {
  flags: '--hooks',
  text: 'also hooks for Claude Code, Codex and Gemini CLI that hand over waiting messages',
}
const yes: OptionRule = { flags: '-y, --yes', text: 'ask nothing' }
const scope: OptionRule[] = [
  { flags: '-g, --global', text: "the user's own files (the default)" },
  { flags: '--project', text: 'the files of the project in this directory' },
]
const dryRun: OptionRule = { flags: '--dry-run', text: 'change nothing, show a diff' }

export const setupCommand: CommandRule = {
  name: 'setup',
  text: 'make this directory a workspace and connect your editors and CLIs',
  options: [editor, hooks, yes],
  examples: ['agent-relay setup', 'agent-relay setup --yes', 'agent-relay setup --yes --editor claude --hooks'],
  isNobody: true,
  load: async () => (await import('./commands/setup.ts')).run,
}

export const installCommands: CommandRule[] = [
  {
    name: 'install',
    text: 'add the MCP server to editors and CLIs; every other byte of their files stays',
    options: [
      editor,
      ...scope,
      { flags: '--workspace <key>', text: 'bind it to the workspace of this key; the key itself is not written' },
      hooks,
      dryRun,
      yes,
    ],
    examples: [
      'agent-relay mcp install',
      'agent-relay mcp install --editor claude --hooks',
      'agent-relay mcp install --project --editor cursor --dry-run',
    ],
    isNobody: true,
    load: async () => (await import('./commands/install.ts')).install,
  },
  {
    name: 'uninstall',
    text: 'take it out again, hooks too',
    options: [editor, ...scope, dryRun, yes],
    examples: ['agent-relay mcp uninstall', 'agent-relay mcp uninstall --editor zed --dry-run'],
    isNobody: true,
    load: async () => (await import('./commands/install.ts')).uninstall,
  },
]

/** What completes commands must know them all; `catalog` is asked when it is wanted. */
export const careCommands = (catalog: () => CommandRule[]): CommandRule[] => [
  {
    name: 'doctor',
    text: 'look for what is wrong with this installation, and say how it is mended',
    options: [{ flags: '--fix', text: 'mend what can be mended without asking' }],
    examples: ['agent-relay doctor', 'agent-relay doctor --fix', 'agent-relay doctor --json'],
    isNobody: true,
    load: async () => (await import('./doctor/doctor.ts')).run,
  },
  {
    name: 'completion',
    args: '<shell>',
    words: ['bash', 'zsh', 'fish'],
    text: 'print what makes bash, zsh or fish complete these commands and agent names',
    examples: [
      'eval "$(agent-relay completion bash)"',
      'agent-relay completion zsh > ~/.zfunc/_agent-relay',
      'agent-relay completion fish > ~/.config/fish/completions/agent-relay.fish',
    ],
    isNobody: true,
    load: async () => (await import('./commands/completion.ts')).completion(catalog()),
  },
  {
    name: 'agent-names',
    text: 'the names of agents, one a line, for shells: fast, and silent whatever goes wrong',
    isNobody: true,
    isHidden: true,
    load: async () => (await import('./commands/completion.ts')).agentNames,
  },
]
