// The harness of Copilot CLI, which is used over ACP alone and takes our MCP server over HTTP.

import { acpHarness } from './acp.ts'
import { cliTableFields, type Harness, hasFlag, mcpServerName } from './harness.ts'

export const copilotHarness: Harness = {
  ...acpHarness,
  ...cliTableFields('copilot'),
  install: 'npm install -g @github/copilot',
  variables: [
    ...['COPILOT_OFFLINE', 'COPILOT_PROVIDER_BASE_URL', 'COPILOT_PROVIDER_API_KEY', 'COPILOT_MODEL'],
    'COPILOT_GITHUB_TOKEN',
  ],
  bringsOwnMcp: (args) => hasFlag(args, '--additional-mcp-config'),
  acp: {
    mcp: 'http',
    launch: ({ model, args }) => ({
      args: ['--acp', `--allow-tool=${mcpServerName}`, ...(model === undefined ? [] : ['--model', model]), ...args],
      env: {},
    }),
    isOwnTool: () => false,
    countsConversation: true,
  },
}
