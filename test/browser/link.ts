// The link to the page, as `agent-relay dashboard` prints it for a person at a terminal: while agents run here, nobody else gets one. No tests.

import { fileURLToPath } from 'node:url'
import { openPty } from '../../packages/relay/src/supervisor/pty.ts'

const launcher = fileURLToPath(new URL('../../packages/relay/bin/agent-relay.cjs', import.meta.url))

/** The link to a workspace of the daemon that has this data directory. */
export async function printedLink(dataDir: string, project: string): Promise<string> {
  const args = [launcher, 'dashboard', '--no-open', '--json', '--project', project]
  const env = { PATH: process.env.PATH ?? '', HOME: dataDir, RELAY_DATA_DIR: dataDir }
  const terminal = await openPty({ file: process.execPath, args, cwd: dataDir, env, cols: 1_000, rows: 24 })
  const pieces: Uint8Array[] = []
  terminal.onData((data) => pieces.push(data))
  await new Promise<void>((resolve) => terminal.onExit(() => resolve()))
  return JSON.parse(Buffer.concat(pieces).toString()).url
}
