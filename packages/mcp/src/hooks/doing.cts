// `agent-relay-mcp hook doing`: opencode's plugin runs it when its session becomes busy, idle or waiting. It tells the daemon and prints nothing.
// It starts in the time of a bare Node, like the other hooks.

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
