// The harness of Factory's droid: --settings adds our MCP server and the model, in a file that is made for one start; no file of the user changes.

import { join } from 'node:path'
import {
  type Harness,
  hasFlag,
  mcpServerEnvironment,
  mcpServerName,
  type ScreenPatterns,
  terminalFields,
} from './harness.ts'

/** How the screen of droid 0.225.2 looks in each state. Its title does not show the state. */
const signs: ScreenPatterns = {
  blocked: { line: /\bEnter (?:to confirm · Esc to exit|select +Esc cancel)\b|^> Login$/, lines: 3 },
  busy: { line: /\(Press ESC to stop\)/, lines: 8 },
  idle: { line: /\? for help\b/ },
}

export const droidHarness: Harness = {
  ...terminalFields('droid', signs, { enterDelayMs: 400 }),
  install: 'npm install -g droid',
  variables: ['FACTORY_API_KEY', 'FACTORY_AIRGAP_ENABLED'],
  // Droid uses only the last of several --settings files, so ours is left out if the user gives one.
  bringsOwnMcp: (args) => hasFlag(args, '--settings'),
  launch({ directory, server: { command, args: serverArgs }, model, args, isInjected }) {
    if (!isInjected) return { args: [...args], env: {} }
    const path = join(directory, 'settings.json')
    const entry = { type: 'stdio', command, args: serverArgs, env: mcpServerEnvironment }
    const settings = {
      mcp: { mcpServers: { [mcpServerName]: entry } },
      // Our tools need no approval, even at the lowest autonomy level that a worker may be given (--auto low).
      mcpAutonomyOverrides: { [mcpServerName]: { defaultLevel: 'low' } },
      ...(model === undefined ? {} : { sessionDefaultSettings: { model } }),
    }
    return {
      args: ['--settings', path, ...args],
      env: {},
      files: [{ path, text: `${JSON.stringify(settings, null, 2)}\n` }],
    }
  },
}
