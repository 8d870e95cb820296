// `trust`: allows the present settings in this project's .relay/config.json to take effect, or revokes that.

import { replaceInvisible } from '@agent-relay/sdk/internal/clean'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import type { McpServerSettings, ProjectSettings } from '../../../machine/trust.ts'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { yesOption } from '../../options.ts'
import { escapeCharacters } from '../../print.ts'
import { withTilde } from '../../text.ts'

const trustOptions = { yes: yesOption, revoke: { flags: '--revoke', text: 'no longer trust it' } } satisfies CliOptions

export const trust: CliCommand<typeof trustOptions> = {
  options: trustOptions,
  examples: ['agent-relay trust', 'agent-relay trust --yes', 'agent-relay trust --revoke'],
  actsForNoAgent: true,
  run,
}

async function run({ options, print, env, cwd }: CommandContext<typeof trustOptions>): Promise<void> {
  // Imported here, since loading this file would slow down the completion script.
  const { withdrawTrust, needsNoTrust, projectConfig, trustConfig } = await import('../../../machine/trust.ts')
  const directory = dataDir(env)
  const config = cwd === undefined ? undefined : projectConfig(cwd, directory)
  if (!config) throw new CommandError('There is no .relay/config.json here or above.', exitCodes.refused)
  const { path, sha256, settings } = config
  const name = withTilde(path, env.HOME)
  if (options.revoke) {
    const was = withdrawTrust(path, directory)
    if (print.isJson) await print.json({ path, trusted: false })
    else await print.line(was ? `${name} is no longer trusted.` : `${name} was not trusted.`)
    return
  }
  for (const line of settingLines(settings)) print.say(`  ${line}`)
  if (!options.yes && !needsNoTrust(settings))
    await confirm(
      'May runs and workers use all of this?',
      `${name} is not trusted yet, and there is no terminal to ask on. If all of this may be used: agent-relay trust --yes`,
      { canAsk: !print.isJson && process.stdin.isTTY, ended: 'Cancelled. Nothing new is trusted.' },
    )
  trustConfig(config, directory)
  if (print.isJson) return void (await print.json({ path, trusted: true, sha256 }))
  const what = needsNoTrust(settings) ? ' It sets nothing yet that needs trust.' : ''
  await print.line(`${name} is trusted with its present content. When it changes, run agent-relay trust again.${what}`)
}

/** Lists all settings that the person would allow. The file may have come with a repository, so nothing is left out or shortened. */
function settingLines({ llm, mcpServers = {}, harness = {}, worktree = {} }: ProjectSettings): string[] {
  const model = [llm?.provider, llm?.model, llm?.baseUrl].filter((each) => each !== undefined).map(word)
  const key = llm?.apiKey === undefined ? [] : ['with an API key of its own']
  return [
    ...(llm === undefined ? [] : [['model:', ...model, ...key].join(' ')]),
    ...Object.entries(mcpServers).flatMap(([name, server]) => serverLines(word(name), server)),
    ...Object.entries(harness).flatMap(([cli, { args, acp }]) => [
      ...(args === undefined ? [] : [`${word(cli)} gets: ${args.map(word).join(' ')}`]),
      ...(acp === undefined ? [] : [`${word(cli)} runs instead: ${acp.map(word).join(' ')}`]),
    ]),
    ...Object.entries(worktree).map(
      ([what, value]) =>
        `worktrees, ${worktreeWords[what as keyof typeof worktreeWords]}: ${[value].flat().map(word).join(' ')}`,
    ),
  ]
}

const worktreeWords = {
  directory: 'made in',
  copy: 'with copies of',
  submodules: 'with the submodules',
  setup: 'set up by running',
}

function serverLines(name: string, server: McpServerSettings): string[] {
  if ('url' in server) {
    const headers = Object.keys(server.headers ?? {}).map(word)
    return [
      `MCP server ${name}: ${word(server.url)}`,
      ...(headers.length === 0 ? [] : [`  with the headers ${headers.join(', ')}`]),
    ]
  }
  const { command, args = [], env = {}, cwd } = server
  return [
    `MCP server ${name} runs: ${[command, ...args].map(word).join(' ')}`,
    ...(cwd === undefined ? [] : [`  in ${word(cwd)}`]),
    ...Object.entries(env).map(([variable, value]) => `  with ${word(variable)}=${word(value)}`),
  ]
}

/**
 * Returns a word for display. Unless it is plain, it is quoted with its invisible characters escaped: a word with a blank must not look like two, nor one word
 * like another.
 */
function word(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : replaceInvisible(JSON.stringify(text), escapeCharacters)
}
