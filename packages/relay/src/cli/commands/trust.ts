// `trust`: saying that what this project's .relay/config.json sets may be used, as it stands now, and taking that back.

import { dataDir } from '@agent-relay/sdk/discover'
import { distrust, isEmpty, type ProjectSettings, projectConfig, trust } from '../../trust.ts'
import { CommandError, exits, type Run } from '../command.ts'
import { homely, oneLine } from '../text.ts'

export const run: Run = async ({ options, print, env, cwd }) => {
  const directory = dataDir(env)
  const config = cwd === undefined ? undefined : projectConfig(cwd, directory)
  if (!config) throw new CommandError('There is no .relay/config.json here or above.', exits.refused)
  const { path, sha256, settings } = config
  const name = homely(path, env.HOME)
  if (options.revoke) {
    const was = distrust(path, directory)
    if (print.isJson) await print.json({ path, trusted: false })
    else await print.line(was ? `${name} is no longer trusted.` : `${name} was not trusted.`)
    return
  }
  trust(config, directory)
  if (print.isJson) return void (await print.json({ path, trusted: true, sha256 }))
  for (const line of whatItSets(settings)) print.say(`  ${line}`)
  const what = isEmpty(settings) ? ' It sets nothing yet that needs trust.' : ''
  await print.line(`${name} is trusted as it stands now. When it changes, ask again.${what}`)
}

/** What a person agrees to, in a line each. */
function whatItSets({ llm, mcpServers = {}, harness = {} }: ProjectSettings): string[] {
  const model = [llm?.provider, llm?.model, llm?.baseUrl].filter((each) => each !== undefined).join(' ')
  return [
    ...(llm === undefined ? [] : [`model: ${model}`]),
    ...Object.entries(mcpServers).map(([name, server]) =>
      'url' in server
        ? `MCP server ${name}: ${server.url}`
        : `MCP server ${name} runs: ${[server.command, ...(server.args ?? [])].join(' ')}`,
    ),
    ...Object.entries(harness).map(([cli, { args = [] }]) => `${cli} gets: ${args.join(' ')}`),
  ].map(oneLine)
}
