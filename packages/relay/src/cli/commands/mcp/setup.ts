// `setup`: makes a workspace for this directory, starts the daemon, and connects the editors of this machine. Asks on a terminal, or
// takes the defaults with `--yes`.

import type { Env } from '@agent-relay/sdk/internal/discover'
import { type CliCommand, type CliOption, CommandError, type Context, exits } from '../../command.ts'
import { chooseWorkspace } from '../../connection.ts'
import { yes } from '../../options.ts'
import { ownName } from '../../own-name.ts'
import { hasUserUnits, installService } from '../daemon/service.ts'
import { runStart } from '../daemon/start.ts'
import { checkPlace } from '../daemon/starting.ts'
import { asksForList, claudeListOptions, claudeListQuestion, keepList } from './claude-list.ts'
import { editor, hookOptions } from './install.ts'

interface Answers {
  workspace: string
  /** The names of editors; empty if none is to be connected. */
  editors: string[]
  hooks?: boolean | 'free'
  claudeList?: boolean
  /** Whether a service is to start the daemon at every login. */
  service: boolean
}

interface SetupOptions {
  editor?: string[]
  hooks?: boolean
  noHooks?: boolean
  claudeList?: boolean
  noClaudeList?: boolean
  service?: boolean
  yes?: boolean
}

const service: CliOption = {
  flags: '--service',
  text: 'the daemon runs by itself at every login, as daemon install-service says',
}

export const setup: CliCommand<SetupOptions> = {
  options: { editor, ...hookOptions, ...claudeListOptions, service, yes },
  examples: ['agent-relay setup', 'agent-relay setup --yes', 'agent-relay setup --yes --editor claude --no-hooks'],
  actsForNoAgent: true,
  run,
}

async function run(context: Context<SetupOptions>): Promise<number> {
  let exit = 0
  const { options, print, env, cwd } = context
  const isAsking = !options.yes && !print.isJson
  if (isAsking && !process.stdin.isTTY)
    throw new CommandError(
      'setup asks questions, and this is not a terminal. For the defaults: agent-relay setup --yes',
      exits.usage,
    )
  // Checked before anything is asked, or the answers would be in vain.
  checkPlace(env)
  const own = ownName(env)
  const { workspace, editors, hooks, claudeList, service } = isAsking ? await ask(context) : await defaults(context)
  await runStart({ ...context, options: { project: workspace, json: options.json, quiet: isAsking } })
  if (editors.length > 0) {
    const { runInstall } = await import('@agent-relay/mcp/install')
    const say = (text: string) => void print.line(options.json ? text : print.typed(text))
    const command = `${own} mcp`
    const wish = { editor: editors.join(','), hooks, json: options.json, env, cwd, say, command }
    exit = (await runInstall(wish)).exit
  } else if (!print.isJson) {
    print.say(`No editor or CLI was connected. To do that later: ${own} mcp install`)
  }
  keepList(context, claudeList)
  if (service) await installService.run?.({ ...context, options: { json: options.json } })
  if (!print.isJson) print.say(`Next: ${own} who, and ${own} doctor if something does not work.`)
  return exit
}

async function defaults(context: Context<SetupOptions>): Promise<Answers> {
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
  const { detected, installContext } = await import('@agent-relay/mcp/install')
  return detected(installContext(env))
}

const atLogin = { message: 'Should the daemon run by itself, from every login on?', initialValue: false }

async function ask(context: Context<SetupOptions>): Promise<Answers> {
  const { options, env } = context
  const prompts = await import('@clack/prompts')
  const { editors: known, freeHookEditors, hooksQuestion } = await import('@agent-relay/mcp/install')
  const given = <T>(answer: T): Exclude<T, symbol> => {
    if (prompts.isCancel(answer)) throw new CommandError('Cancelled. Nothing was changed.', exits.refused)
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
  const hookable = known.filter(({ name }) => editors.includes(name) && freeHookEditors.includes(name))
  const isAsked = options.hooks === undefined && hookable.length > 0
  const isYes = isAsked && given(await prompts.confirm({ message: hooksQuestion(hookable) }))
  const isListAsked = options.claudeList === undefined && asksForList(context, editors)
  const claudeList = isListAsked
    ? given(await prompts.confirm({ message: claudeListQuestion, initialValue: false }))
    : options.claudeList
  const service = options.service ?? (hasUserUnits(env) && given(await prompts.confirm(atLogin)))
  prompts.outro(`Workspace ${workspace}`)
  return { workspace, editors, hooks: options.hooks ?? (isYes && 'free'), claudeList, service }
}
