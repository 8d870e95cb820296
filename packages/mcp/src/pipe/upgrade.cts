// Connects the pipe to a daemon by an upgraded HTTP connection, if RELAY_BASE_URL names the daemon's address. Otherwise the pipe uses the Unix
// socket.

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import type { OpenConnection } from './pipe.cts'

/** The size limit of an error answer, which is a few lines of JSON. */
const refusalBytesMax = 64 * 1024

/** `credential` is the agent's token or the workspace's key; an open relay asks for none. It goes in a header, never in the URL. */
export function connectOverHttp(baseUrl: string, credential: string | undefined): OpenConnection {
  const url = new URL('/pipe', baseUrl)
  // Loads the HTTP module only here: a pipe on the Unix socket does not need it.
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
    asked.once('response', (response) => reportRefusal(response, failed))
    asked.once('error', failed)
    asked.end()
  }
}

/** Reports a refusal. The relay gives the reason in JSON; anything else that answers is not a relay. */
function reportRefusal(response: IncomingMessage, failed: (error: Error) => void): void {
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
      // The body is not one of our answers.
    }
    failed(new Error(message))
  })
}
