// Checks every request and every upgrade on the HTTP port: the exact host names that the port answers to, and the web pages that may talk to it. Without this
// check a web page could reach the relay by pointing a name of its own at 127.0.0.1 (DNS rebinding).

import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { isLoopback } from '../machine/loopback.ts'

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const corsMethods = 'GET, POST, DELETE'
const corsHeaders =
  'authorization, content-type, x-relay-agent, x-relay-workspace, x-relay-call-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id'
const corsSeconds = 600

export class RequestGuard {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #url: string

  /** `outside`: the address under which a browser on another machine reaches this port, if the owner gave one. */
  constructor(port: number, bound: string | undefined, allowOrigins: readonly string[] = [], outside?: string) {
    const names = [...loopbackNames, ...(bound === undefined || isLoopback(bound) ? [] : addressesOf(bound))]
    // A client leaves the port out of the Host header if it is the scheme's default.
    const hosts = names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]))
    if (outside !== undefined) hosts.push(new URL(outside).host)
    this.#hosts = new Set(hosts)
    this.#origins = new Set([...hosts.map((host) => `http://${host}`), ...allowOrigins])
    this.#url = `http://127.0.0.1:${port}`
  }

  /** Returns why the request is refused; decided before a byte of its body is read. Undefined if the request is admitted. */
  refusalFor(request: IncomingMessage): Refusal | undefined {
    const host = singleValue(request, 'host')
    if (host === undefined || !this.#hosts.has(host)) return this.#denied('Host', host)
    const origins = valuesOf(request, 'origin')
    const stranger = origins.find((origin) => !this.#origins.has(origin))
    if (origins.length > 1 || stranger !== undefined) return this.#denied('Origin', stranger ?? origins.join())
    // A request target with a host of its own would override the Host header.
    if (!request.url?.startsWith('/')) return this.#denied('Request target', request.url)
    return undefined
  }

  /** Returns CORS headers for a page of a listed origin; none for everyone else. */
  corsHeadersFor({ headers, method }: IncomingMessage): Record<string, string> {
    const { origin } = headers
    if (origin === undefined || !this.#origins.has(origin)) return {}
    const answer = {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'mcp-session-id',
      vary: 'origin',
    }
    if (method !== 'OPTIONS') return answer
    return {
      ...answer,
      'access-control-allow-methods': corsMethods,
      'access-control-allow-headers': corsHeaders,
      'access-control-max-age': String(corsSeconds),
    }
  }

  #denied(header: string, value = ''): Refusal {
    return refusal('origin.denied', { header, value: value.slice(0, 200), url: this.#url })
  }
}

/** Returns all values of a header as they came: Node's own table keeps the first of two, and another reader might take the second. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}

function singleValue(request: IncomingMessage, name: string): string | undefined {
  const values = valuesOf(request, name)
  return values.length === 1 ? values[0] : undefined
}

/** Returns the bound address, or every address of this machine; never a host name, which somebody else might own. */
function addressesOf(bound: string): string[] {
  const isEvery = bound === '0.0.0.0' || bound === '::'
  const found = isEvery
    ? Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? [])
    : [bound]
  return found.map((address) => (isIP(address) === 6 ? `[${address}]` : address))
}
