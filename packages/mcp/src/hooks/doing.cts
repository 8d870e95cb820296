// `agent-relay-mcp hook doing`, which our plugin in opencode runs when the session becomes busy, idle or waiting. Reports that state to the daemon
// and prints nothing. Like all hooks, it must start about as fast as an empty Node.js program.

import { connect } from 'node:net'
import { reachDaemon, setting } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'
import { hostProcesses } from './identity.cts'
import { readStdinText } from './stdin.cts'

/** Reports the session's state, then ends the process, also if no daemon answers. */
export async function runDoingHook(): Promise<void> {
  const exit = () => process.exit()
  setTimeout(exit, waitLimitMs('hook'))
  try {
    const input = JSON.parse(await readStdinText())
    const token = setting(process.env, 'RELAY_AGENT_TOKEN')
    const identity = token === undefined ? { hosts: hostProcesses(process.env) } : { token }
    const { socketPath, socket = connect(socketPath) } = await reachDaemon()
    await new WireClient(socket, identity, exit).call('agent.show', input)
  } catch {}
  exit()
}
