// Programs that are only used over ACP: Copilot, and any other agent whose command the user gives.

import { type Harness, hasFlag, known, serverName } from './harness.ts'
import { plain } from './plain.ts'

const ownTitle = new RegExp(`^mcp__${serverName}__\\w+$`)

/** The harness of any program that speaks ACP; the user gives the command. */
export const acp: Harness = {
  ...plain,
  name: 'acp',
  hasMcp: true,
  isAcpOnly: true,
  acp: {
    mcp: 'stdio',
    launch: ({ args }) => ({ args: [...args], env: {} }),
    // Claude's adapter names our tools this way. Other agents have to ask: their titles may be anything.
    isOwnTool: ({ title, kind }) => kind === 'other' && ownTitle.test(title),
  },
}

export const copilot: Harness = {
  ...acp,
  ...known('copilot'),
  install: 'npm install -g @github/copilot',
  bringsOwnMcp: (args) => hasFlag(args, '--additional-mcp-config'),
  acp: {
    mcp: 'http',
    launch: ({ model, args }) => ({
      args: ['--acp', `--allow-tool=${serverName}`, ...(model === undefined ? [] : ['--model', model]), ...args],
      env: {},
    }),
    isOwnTool: () => false,
    countsConversation: true,
  },
}
