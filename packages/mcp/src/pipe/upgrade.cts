// The pipe's other way to a daemon: an HTTP connection that is upgraded, for a relay that is reached by its address (RELAY_BASE_URL).

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Open } from './pipe.cts'

/** An error answer is a few lines of JSON. */
const refusalBytesMax = 64 * 1024

/** `credential` is the agent's token or the workspace's key; an open relay asks for none. It goes in a header, never in an address. */
export function overHttp(baseUrl: string, credential: string | undefined): Open {
  const url = new URL('/pipe', baseUrl)
  // Loaded here: a pipe on the local socket needs neither.
  const { request } = require(url.protocol === 'https:' ? 'node:https' : 'node:http') as typeof import('node:http')
  const headers = {
    connection: 'Upgrade',
    upgrade: 'agent-relay-pipe',
    ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
  }
  return (opened, failed) => {
    const asked: ClientRequest = request(url, { headers } satisfies RequestOptions)
    asked.once('upgrade', (_: IncomingMessage, socket: Duplex, head: Buffer) => {
      asked.off('error', failed)
      if (head.length > 0) socket.unshift(head)
      opened(socket)
    })
    asked.once('response', (response) => refused(response, failed))
    asked.once('error', failed)
    asked.end()
  }
}

/** The relay says why in JSON; anything else that answers there is not a relay. */
function refused(response: IncomingMessage, failed: (error: Error) => void): void {
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text = (text + chunk).slice(0, refusalBytesMax)
  })
  response.once('end', () => {
    let message = `what answers there is not a relay (HTTP ${response.statusCode})`
    try {
      message = JSON.parse(text).error.message
    } catch {
      // Not one of our answers.
    }
    failed(new Error(message))
  })
}
