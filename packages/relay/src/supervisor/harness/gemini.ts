// Gemini CLI: it knows no MCP flag, so one entry is added once by its own command; what differs per worker is in the environment.

import {
  ctrlC,
  type Harness,
  hasFlag,
  identityNames,
  type Launch,
  readSigns,
  type Signs,
  serverName,
} from './harness.ts'

/** Of 0.61.0. */
const signs: Signs = {
  // The line is the marked one of every choice it offers; its title says ready over some of them.
  blocked: { title: /^✋/u, line: /^[\s│]*● \d+\. /u, lines: 8 },
  busy: { title: /^✦/u, line: /\(esc to cancel, \d+/, lines: 9 },
  idle: { title: /^◇/u },
}

export const gemini: Harness = {
  name: 'gemini',
  program: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  hasMcp: true,
  // Enter within 30 ms of the text is a newline, and was lost once at 120 ms.
  typing: { enterDelayMs: 400 },
  exitKeys: [ctrlC, ctrlC],
  toolPrefix: `mcp_${serverName}_`,
  bringsOwnMcp: (args) => hasFlag(args, '--allowed-mcp-server-names'),
  read: (view) => readSigns(signs, view),
  launch({ server, model, args, isInjected }): Launch {
    // Written as it is and replaced at each start: without it a name with TOKEN in it would be scrubbed from the server's environment.
    const variables = identityNames.flatMap((name) => ['-e', `${name}=$${name}`])
    const add = ['mcp', 'add', '-s', 'user', '--trust', ...variables, serverName, server.command, ...server.args]
    const own = [...(model === undefined ? [] : ['-m', model]), ...args]
    if (!isInjected) return { args: own, env: {} }
    // In a folder that is not trusted it starts no MCP server.
    return { args: own, env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' }, before: [{ args: add }] }
  },
}
