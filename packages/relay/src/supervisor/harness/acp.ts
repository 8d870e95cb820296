// Programs that are spoken to over ACP alone: Copilot, and any other agent whose command the user gives.

import { type Harness, hasFlag, known, serverName } from './harness.ts'
import { plain } from './plain.ts'

const ownTitle = new RegExp(`^mcp__${serverName}__\\w+$`)

/** Its command is the user's. */
export const acp: Harness = {
  ...plain,
  name: 'acp',
  hasMcp: true,
  isAcpOnly: true,
  acp: {
    mcp: 'stdio',
    launch: ({ args }) => ({ args: [...args], env: {} }),
    // As Claude's adapter names them. Others have to ask: nobody knows what they write themselves.
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
