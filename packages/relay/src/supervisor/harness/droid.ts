// Factory's droid, written from its documentation alone: one entry is added once by its own command; what differs per worker is in the environment.

import { ctrlC, type Harness, identityNames, known, readSigns, type Signs, serverName } from './harness.ts'

const signs: Signs = {
  blocked: {},
  busy: { line: /\besc to (?:stop|interrupt|cancel)\b/i, lines: 5 },
  idle: {},
}

export const droid: Harness = {
  ...known('droid'),
  install: 'npm install -g droid',
  typing: { enterDelayMs: 400 },
  exitKeys: [ctrlC, ctrlC],
  bringsOwnMcp: (args) => args.some((arg) => arg.includes('mcp-config')),
  read: (view) => readSigns(signs, view),
  launch({ server, model, args, isInjected }) {
    const variables = identityNames.flatMap((name) => ['--env', `${name}=\${${name}:-}`])
    const command = [server.command, ...server.args].map(quoted).join(' ')
    return {
      args: [...(model === undefined ? [] : ['-m', model]), ...args],
      env: {},
      ...(isInjected ? { before: [{ args: ['mcp', 'add', serverName, command, ...variables] }] } : {}),
    }
  },
}

/** It takes the whole command as one argument, and splits it into words. */
function quoted(word: string): string {
  return /\s|"/.test(word) ? `"${word.replaceAll('"', '\\"')}"` : word
}
