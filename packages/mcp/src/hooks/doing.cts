// `agent-relay-mcp hook doing`: what our plugin for opencode runs when its session begins to do something else. It tells the daemon, and says
// nothing. Loaded in the time of a bare Node, like the other hooks.

import { connect } from 'node:net'
import { reachDaemon, setting } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { newPipeId } from '../pipe/opening.cts'
import { hosts } from './identity.cts'
import { stdinText } from './stdin.cts'

/** Ends the process by itself, also where no daemon answers. */
export async function doingHook(): Promise<void> {
  setTimeout(() => process.exit(), waitLimitMs('hook'))
  try {
    const input = JSON.parse(await stdinText())
    const token = setting(process.env, 'RELAY_AGENT_TOKEN')
    const identity = token === undefined ? { hosts: hosts(process.env.RELAY_HOST) } : { token }
    const { socketPath, socket = connect(socketPath) } = await reachDaemon()
    const say = (type: string, payload: object) =>
      socket.write(`${JSON.stringify({ v: 1, type, id: newPipeId(), ts: Date.now(), payload })}\n`)
    let text = ''
    socket.on('error', () => process.exit()).on('close', () => process.exit())
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() as string
      for (const line of lines) {
        const { type } = JSON.parse(line)
        if (type === 'WELCOME') say('CALL', { op: 'agent.show', input })
        else if (type !== 'EVENT') process.exit()
      }
    })
    say('HELLO', identity)
  } catch {
    process.exit()
  }
}
