// `setup`: creates a workspace for this directory, starts the daemon, and adds our MCP server to the editors of this machine. Asks at a terminal, or takes the
// defaults with `--yes`.

import type { Env } from '@agent-relay/sdk/internal/discover'
import { type CliCommand, type CliOption, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { chooseWorkspace } from '../../connection.ts'
import { yesOption } from '../../options.ts'
import { ownCommandName } from '../../own-name.ts'
import { canInstallService, installService } from '../daemon/service.ts'
import { runDaemonStart } from '../daemon/start.ts'
import { checkDataDirectory } from '../daemon/starting.ts'
import { claudeListOptions, claudeListQuestion, shouldAskForClaudeList, storeClaudeListAnswer } from './claude-list.ts'
import { editorOption, hookOptions } from './install.ts'

interface Answers {
  workspace: string
  /** The names of the editors that get our MCP server. */
  editors: string[]
  hooks?: boolean | 'free'
  claudeList?: boolean
  /** Whether to install a service that starts the daemon at every login. */
  service: boolean
}

const service = {
  flags: '--service',
  text: 'start the daemon at every login, as daemon install-service does',
} satisfies CliOption

const setupOptions = { editor: editorOption, ...hookOptions, ...claudeListOptions, service, yes: yesOption }

export const setup: CliCommand<typeof setupOptions> = {
  options: setupOptions,
  examples: ['agent-relay setup', 'agent-relay setup --yes', 'agent-relay setup --yes --editor claude --no-hooks'],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof setupOptions>): Promise<number> {
  let exit = 0
  const { options, print, env, cwd } = context
  const isAsking = !options.yes && !print.isJson
  if (isAsking && !process.stdin.isTTY)
    throw new CommandError(
      'setup asks questions, and this is not a terminal. For the defaults: agent-relay setup --yes',
      exitCodes.usage,
    )
  // The data directory is checked before the person is asked anything.
  checkDataDirectory(env)
  const own = ownCommandName(env)
  const { workspace, editors, hooks, claudeList, service } = isAsking ? await ask(context) : await defaults(context)
  await runDaemonStart({ ...context, options: { project: workspace, json: options.json, quiet: isAsking } })
  if (editors.length > 0) {
    const { runInstall } = await import('@agent-relay/mcp/install')
    const say = (text: string) => void print.line(options.json ? text : print.typed(text))
    const command = `${own} mcp`
    const wish = { editor: editors.join(','), hooks, json: options.json, env, cwd, say, command }
    exit = (await runInstall(wish)).exit
  } else if (!print.isJson) {
    print.say(`No editor or CLI was connected. To do that later: ${own} mcp install`)
  }
  storeClaudeListAnswer(context, claudeList)
  if (service) await installService.run?.({ ...context, options: { json: options.json } })
  if (!print.isJson) print.say(`Next: ${own} who, and ${own} doctor if something does not work.`)
  return exit
}

async function defaults(context: CommandContext<typeof setupOptions>): Promise<Answers> {
  const { options, env } = context
  const names = options.editor ?? (await found(env)).map(({ name }) => name)
  const { project: workspace } = chooseWorkspace(context, env)
  return {
    workspace,
    editors: names,
    hooks: options.hooks ?? (options.yes ? 'free' : undefined),
    claudeList: options.claudeList,
    service: options.service === true,
  }
}

async function found(env: Env) {
  const { detectEditors, installContext } = await import('@agent-relay/mcp/install')
  return detectEditors(installContext(env))
}

const atLogin = { message: 'Should the daemon run by itself, from every login on?', initialValue: false }

async function ask(context: CommandContext<typeof setupOptions>): Promise<Answers> {
  const { options, env } = context
  const prompts = await import('@clack/prompts')
  const { editors: known, silentHookEditors, hooksQuestion } = await import('@agent-relay/mcp/install')
  const given = <T>(answer: T): Exclude<T, symbol> => {
    if (prompts.isCancel(answer)) throw new CommandError('Cancelled. Nothing was changed.', exitCodes.refused)
    return answer as Exclude<T, symbol>
  }
  prompts.intro('Agent Relay')
  const { isProjectName } = await import('@agent-relay/sdk/internal/discover')
  const workspace = given(
    await prompts.text({
      message: 'The workspace of this directory',
      initialValue: chooseWorkspace(context, env).project,
      validate: (name) => (isProjectName(name) ? undefined : 'Letters, digits, ".", "_" and "-", at most 64'),
    }),
  )
  const here = (await found(env)).map(({ name }) => name)
  const editors = given(
    await prompts.multiselect({
      message: 'Editors and CLIs to connect (space chooses, enter goes on)',
      options: known.map(({ name, title }) => ({
        value: name,
        label: title,
        hint: here.includes(name) ? 'found' : undefined,
      })),
      initialValues: options.editor ?? here,
      required: false,
    }),
  )
  const hookable = known.filter(({ name }) => editors.includes(name) && silentHookEditors.includes(name))
  const isAsked = options.hooks === undefined && hookable.length > 0
  const isYes = isAsked && given(await prompts.confirm({ message: hooksQuestion(hookable) }))
  const isListAsked = options.claudeList === undefined && shouldAskForClaudeList(context, editors)
  const claudeList = isListAsked
    ? given(await prompts.confirm({ message: claudeListQuestion, initialValue: false }))
    : options.claudeList
  const service = options.service ?? (canInstallService(env) && given(await prompts.confirm(atLogin)))
  prompts.outro(`Workspace ${workspace}`)
  return { workspace, editors, hooks: options.hooks ?? (isYes && 'free'), claudeList, service }
}
