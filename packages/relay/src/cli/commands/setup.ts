// `setup`: a workspace for this directory, a daemon that serves it, and the editors of this machine connected to it. Asks on a terminal, or
// takes the defaults with `--yes`.

import type { Env } from '@agent-relay/sdk/discover'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { ownName } from '../own-name.ts'
import { choose } from '../starting.ts'
import { start } from './daemon.ts'

interface Answers {
  workspace: string
  /** Empty: none. */
  editors: string[]
  withHooks: boolean
}

export const run: Run = async (invocation) => {
  const { options, print, env, cwd } = invocation
  const isAsking = !options.yes && !print.isJson
  if (isAsking && !process.stdin.isTTY)
    throw new CommandError(
      'setup asks questions, and this is no terminal. For the defaults: agent-relay setup --yes',
      exits.usage,
    )
  const own = ownName(env)
  const { workspace, editors, withHooks } = isAsking ? await ask(invocation) : await defaults(invocation)
  await start({ ...invocation, options: { project: workspace, json: options.json, quiet: isAsking } })
  if (editors.length > 0) {
    const { runInstall } = await import('@agent-relay/mcp/install')
    const say = (text: string) => void print.line(text)
    const command = `${own} mcp`
    await runInstall({ editor: editors.join(','), hooks: withHooks, json: options.json, env, cwd, say, command })
  } else if (!print.isJson) {
    print.say(`No editor or CLI was connected. To do that later: ${own} mcp install`)
  }
  if (!print.isJson) print.say(`Next: ${own} who, and ${own} doctor if something does not work.`)
}

async function defaults(invocation: Invocation): Promise<Answers> {
  const { options, env } = invocation
  const names = options.editor ?? (await found(env)).map(({ name }) => name)
  return { workspace: choose(invocation, env).project, editors: names, withHooks: options.hooks === true }
}

async function found(env: Env) {
  const { detected, surroundingsOf } = await import('@agent-relay/mcp/install')
  return detected(surroundingsOf(env))
}

async function ask(invocation: Invocation): Promise<Answers> {
  const { options, env } = invocation
  const prompts = await import('@clack/prompts')
  const { editors: known, hookEditors } = await import('@agent-relay/mcp/install')
  const given = <T>(answer: T): Exclude<T, symbol> => {
    if (prompts.isCancel(answer)) throw new CommandError('Left. Nothing was changed.', exits.refused)
    return answer as Exclude<T, symbol>
  }
  prompts.intro('Agent Relay')
  const { isProjectName } = await import('@agent-relay/sdk/discover')
  const workspace = given(
    await prompts.text({
      message: 'The workspace of this directory',
      initialValue: choose(invocation, env).project,
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
  const hooked = editors.filter((name) => hookEditors.includes(name))
  const withHooks =
    hooked.length > 0 &&
    given(
      await prompts.confirm({
        message: 'Hooks as well? They hand waiting messages to the agent at each turn.',
        initialValue: options.hooks === true,
      }),
    )
  prompts.outro(`Workspace ${workspace}`)
  return { workspace, editors, withHooks }
}
