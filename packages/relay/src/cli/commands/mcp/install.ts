// `mcp install` and `mcp uninstall`, which call the installer of @agent-relay/mcp.

import { clisWith, listText } from '@agent-relay/sdk/internal/clis'
import {
  type CliOption,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
} from '../../command.ts'
import { ownCommandName } from '../../own-name.ts'
import {
  claudeListOptions,
  claudeListQuestion,
  removeFromClaudeList,
  shouldAskForClaudeList,
  storeClaudeListAnswer,
} from './claude-list.ts'

const hooked = listText(
  clisWith('hooks').map(({ title }) => title),
  'and',
)
export const editorOption = {
  flags: '-e, --editor <name>',
  text: 'which: a name (claude, cursor, codex, …), auto (those that are found) or all',
  words: ['auto', 'all', ...clisWith('editor').map(({ name }) => name)],
  isList: true,
} satisfies CliOption
/** The options for hooks. Without them, the person is asked about the hooks that have no cost for them; without a terminal, none are installed. */
export const hookOptions = {
  hooks: {
    flags: '--hooks',
    text: `hooks that hand over messages for all of ${hooked}; Codex then asks you to review them`,
  },
  noHooks: { flags: '--no-hooks', text: 'no hooks' },
} satisfies Record<string, CliOption>
const workspace = {
  flags: '--workspace <key>',
  text: 'bind the server to the workspace of this key, with the toolsets relay and workspace; the key itself is not written',
} satisfies CliOption

const start = {
  flags: '--start',
  text: 'the server starts a daemon if none runs, without an HTTP port; it ends ten minutes after the last session',
} satisfies CliOption

const { dryRun, yes, ...where } = {
  editor: editorOption,
  global: { flags: '-g, --global', text: "the user's own files (the default)" },
  project: { flags: '--project', text: 'the files of the project in this directory' },
  dryRun: { flags: '--dry-run', text: 'change nothing, show a diff' },
  yes: {
    flags: '-y, --yes',
    text: 'ask nothing: yes to hooks, and to an entry of our name that starts another program',
  },
} satisfies CliOptions

/** Of all options but `--project`: it is a flag in these two commands, and the name of a workspace in all others. */
type WithoutProject<Options> = Omit<Options, 'project'>

const installOptions = { ...where, workspace, start, ...hookOptions, ...claudeListOptions, dryRun, yes }

export const install: NamedCommand<WithoutProject<typeof installOptions>> = {
  name: 'install',
  text: 'add the MCP server to editors and CLIs; every other byte of their files stays',
  options: installOptions,
  examples: [
    'agent-relay mcp install',
    'agent-relay mcp install --editor claude --no-hooks',
    'agent-relay mcp install --project --editor cursor --dry-run',
  ],
  actsForNoAgent: true,
  run: runInstallCommand,
}

const uninstallOptions = { ...where, dryRun, yes }

export const uninstall: NamedCommand<WithoutProject<typeof uninstallOptions>> = {
  name: 'uninstall',
  text: 'remove the MCP server and the hooks from editors and CLIs',
  options: uninstallOptions,
  examples: ['agent-relay mcp uninstall', 'agent-relay mcp uninstall --editor zed --dry-run'],
  actsForNoAgent: true,
  run: runUninstallCommand,
}

async function runInstallCommand(context: CommandContext<WithoutProject<typeof installOptions>>): Promise<number> {
  const { runInstall } = await import('@agent-relay/mcp/install')
  const { exit } = await runInstall(installOptionsOf(context))
  if (exit === 0 && !context.options.dryRun) storeClaudeListAnswer(context, await mayList(context))
  return exit
}

async function mayList(context: CommandContext<WithoutProject<typeof installOptions>>): Promise<boolean | undefined> {
  const { claudeList, editor, yes, json } = context.options
  if (claudeList !== undefined || yes || json || !process.stdin.isTTY || !shouldAskForClaudeList(context, editor))
    return claudeList
  const prompts = await import('@clack/prompts')
  return (await prompts.confirm({ message: claudeListQuestion, initialValue: false })) === true
}

async function runUninstallCommand(context: CommandContext<WithoutProject<typeof uninstallOptions>>): Promise<number> {
  const { runUninstall } = await import('@agent-relay/mcp/install')
  const { exit } = await runUninstall(installOptionsOf(context))
  const { editor, dryRun } = context.options
  if (exit === 0 && !dryRun) removeFromClaudeList(context, editor)
  return exit
}

function installOptionsOf({ options, env, cwd, print }: CommandContext<WithoutProject<typeof installOptions>>) {
  const { editor, global, workspace, start, hooks, dryRun, json, yes } = options
  const project = Boolean(options.project)
  if (global && project) throw new CommandError('Either --global or --project, not both', exitCodes.usage)
  const say = (text: string) => void print.line(json ? text : print.typed(text))
  const command = `${ownCommandName(env)} mcp`
  return {
    editor: editor?.join(','),
    global,
    project,
    workspace,
    start,
    hooks,
    dryRun,
    json,
    yes,
    env,
    cwd,
    say,
    command,
  }
}
