// The harness of Gemini CLI, which has no flag for MCP servers: its own command adds one entry, once, and values that differ per worker are in the
// environment.

import { cliOf } from '@agent-relay/sdk/internal/clis'
import {
  type Harness,
  hasFlag,
  identityVariables,
  type LaunchPlan,
  mcpServerName,
  type ScreenPatterns,
  terminalFields,
} from './harness.ts'

/** How the screen of Gemini CLI 0.61.0 looks in each state. */
const signs: ScreenPatterns = {
  // The selected line of any choice that Gemini offers. The title alone is not enough: during some choices it says that Gemini is idle.
  blocked: { title: /^✋/u, line: /^[\s│]*● \d+\. /u, lines: 8 },
  busy: { title: /^✦/u, line: /\(esc to cancel, \d+/, lines: 9 },
  idle: { title: /^◇/u },
}

/**
 * The title that Gemini CLI 0.61.0 gives our tools. A tool with a parameter `command` has that parameter's value as its title, so the id, which
 * begins with the tool's name, is checked too.
 */
const ownTitle = new RegExp(`^\\w+ \\(${mcpServerName} MCP Server\\)$`)

/** Gemini starts no MCP server in a folder that is not trusted, not even one that it is given over ACP. */
const trusted = { GEMINI_CLI_TRUST_WORKSPACE: 'true' }

export const geminiHarness: Harness = {
  // An Enter within 30 ms after the text counts as a newline, and one after 120 ms was lost once.
  ...terminalFields('gemini', signs, { enterDelayMs: 400 }),
  install: 'npm install -g @google/gemini-cli',
  variables: [
    ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_CLI_HOME', 'GEMINI_MODEL'],
    ...['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION', 'GOOGLE_GENAI_USE_VERTEXAI', 'GEMINI_CLI_TRUST_WORKSPACE'],
  ],
  bringsOwnMcp: (args) => hasFlag(args, '--allowed-mcp-server-names'),
  launch({ server, model, args, isInjected }): LaunchPlan {
    // Gemini stores these references as written, and fills in the values at each start. Without them, it removes variables with TOKEN in their name
    // from the server's environment.
    const variables = identityVariables.flatMap((name) => ['-e', `${name}=$${name}`])
    const add = ['mcp', 'add', '-s', 'user', '--trust', ...variables, mcpServerName, server.command, ...server.args]
    const own = [...(model === undefined ? [] : ['-m', model]), ...args]
    if (!isInjected) return { args: own, env: {} }
    return { args: own, env: trusted, setupRuns: [{ args: add }] }
  },
  acp: {
    mcp: 'stdio',
    // Gemini CLI 0.61.0 does not find the earlier session of a process that was killed.
    losesConversations: true,
    launch: ({ model, args, isInjected }) => ({
      args: ['--acp', ...(model === undefined ? [] : ['-m', model]), ...args],
      env: isInjected ? trusted : {},
    }),
    isOwnTool: ({ id, title, kind }) =>
      kind === 'other' && ownTitle.test(title) && id.startsWith(cliOf('gemini').toolPrefix),
  },
}
