// Any program that speaks ACP: the user gives its command.

import { type Harness, serverName } from './harness.ts'
import { plainHarness } from './plain.ts'

const ownTitle = new RegExp(`^mcp__${serverName}__\\w+$`)

export const acpHarness: Harness = {
  ...plainHarness,
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
