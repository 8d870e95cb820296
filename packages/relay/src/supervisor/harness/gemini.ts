// Gemini CLI: it has no MCP flag, so one entry is added once by its own command; what differs per worker is in the environment.

import { cliOf } from '@agent-relay/sdk/internal/clis'
import {
  ctrlC,
  type Harness,
  hasFlag,
  identityNames,
  known,
  type Launch,
  readSigns,
  type Signs,
  serverName,
} from './harness.ts'

/** Signs of version 0.61.0. */
const signs: Signs = {
  // The line is the marked one of every choice it offers; its title says ready over some of them.
  blocked: { title: /^✋/u, line: /^[\s│]*● \d+\. /u, lines: 8 },
  busy: { title: /^✦/u, line: /\(esc to cancel, \d+/, lines: 9 },
  idle: { title: /^◇/u },
}

/** As version 0.61.0 titles a tool of ours. A tool with a parameter `command` has that as its title: the id, which begins with its name, must fit too. */
const ownTitle = new RegExp(`^\\w+ \\(${serverName} MCP Server\\)$`)

/** It starts no MCP server in a folder that is not trusted, nor one that it is given over ACP. */
const trusted = { GEMINI_CLI_TRUST_WORKSPACE: 'true' }

export const gemini: Harness = {
  ...known('gemini'),
  install: 'npm install -g @google/gemini-cli',
  // Enter within 30 ms of the text is a newline, and was lost once at 120 ms.
  typing: { enterDelayMs: 400 },
  exitKeys: [ctrlC, ctrlC],
  bringsOwnMcp: (args) => hasFlag(args, '--allowed-mcp-server-names'),
  read: (view) => readSigns(signs, view),
  launch({ server, model, args, isInjected }): Launch {
    // Written as it is and replaced at each start: without it a name with TOKEN in it would be scrubbed from the server's environment.
    const variables = identityNames.flatMap((name) => ['-e', `${name}=$${name}`])
    const add = ['mcp', 'add', '-s', 'user', '--trust', ...variables, serverName, server.command, ...server.args]
    const own = [...(model === undefined ? [] : ['-m', model]), ...args]
    if (!isInjected) return { args: own, env: {} }
    return { args: own, env: trusted, before: [{ args: add }] }
  },
  acp: {
    mcp: 'stdio',
    launch: ({ model, args, isInjected }) => ({
      args: ['--acp', ...(model === undefined ? [] : ['-m', model]), ...args],
      env: isInjected ? trusted : {},
    }),
    isOwnTool: ({ id, title, kind }) =>
      kind === 'other' && ownTitle.test(title) && id.startsWith(cliOf('gemini').toolPrefix),
  },
}
