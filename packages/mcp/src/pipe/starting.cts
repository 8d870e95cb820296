// `serve --start`: if no daemon is running, starts one that ends by itself some time after its last session. Without `--start`, none is started.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { homeWorkspace } from '@agent-relay/sdk/internal/discover'

/** Where the script of `agent-relay` is, relative to this file: in a checkout, and in an installed archive. It is never looked up by its name. */
const launchers = ['../../../relay/bin/agent-relay.cjs', '../../../../../bin/agent-relay.cjs']

/** Resolves when the daemon runs, or has failed and said why on stderr. */
export function startDaemon(): Promise<void> {
  const launcher = launchers.map((path) => join(__dirname, path)).find((path) => existsSync(path))
  if (launcher === undefined) return Promise.resolve()
  const args = ['daemon', 'start', '--project', homeWorkspace, '--no-http', '--while-attended', '--quiet']
  // The daemon serves every session, so the name, workspace, port or model of one session is not passed to it.
  const isOfAll = (name: string) => name === 'RELAY_DATA_DIR' || name === 'RELAY_PATIENCE'
  const isKept = ([name]: [string, unknown]) => !name.startsWith('RELAY_') || isOfAll(name)
  const env = Object.fromEntries(Object.entries(process.env).filter(isKept))
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [launcher, ...args], {
      cwd: '/',
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
      windowsHide: true,
    })
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
}
