// The harness of any program that speaks ACP; the user gives the command.

import { type Harness, mcpServerName } from './harness.ts'
import { plainHarness } from './plain.ts'

const ownTitle = new RegExp(`^mcp__${mcpServerName}__\\w+$`)

export const acpHarness: Harness = {
  ...plainHarness,
  name: 'acp',
  hasMcp: true,
  isAcpOnly: true,
  acp: {
    mcp: 'stdio',
    launch: ({ args }) => ({ args: [...args], env: {} }),
    // Claude's ACP adapter gives our tools titles in this form. For other agents a person is asked, since their titles may be anything.
    isOwnTool: ({ title, kind }) => kind === 'other' && ownTitle.test(title),
  },
}
