// The HTTP port that a command asks for: its options, the port and its audience, and the same as arguments for a daemon in the background.

import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import { httpPortDefault } from '../../../machine/http-port.ts'
import { type CliOptions, CommandError, exitCodes, type OptionValues } from '../../command.ts'
import { ownNameAnywhere } from '../../own-name.ts'

export const httpOptions = {
  port: {
    flags: '--port <n>',
    text: `HTTP port (else RELAY_PORT, else ${httpPortDefault} or the next that is free); 0 takes any`,
    number: [0, 65_535],
  },
  http: { flags: '--no-http', text: 'no HTTP port at all' },
  open: { flags: '--open', text: 'ask for no key on that port, for clients that know only an address' },
  allowOrigin: {
    flags: '--allow-origin <url>',
    text: 'a web page that may talk to it, e.g. http://localhost:5173',
    isList: true,
  },
  host: { flags: '--host <address>', text: 'listen there instead of on loopback' },
  allowRemote: { flags: '--allow-remote', text: 'confirm that other machines may reach it at --host' },
  pageUrl: {
    flags: '--page-url <url>',
    text: 'where a browser reaches it, as from outside a container: links to the page begin with it',
  },
} satisfies CliOptions
export type HttpOptions = OptionValues<typeof httpOptions>

export interface HttpPortRequest {
  /** 0: any free port. Undefined: nobody asked for one. */
  port?: number
  host?: string
  mayBeRemote?: boolean
  isOpen?: boolean
  allowOrigins?: string[]
  pageUrl?: string
  /** The workspace that a caller without a credential means. */
  home?: string
  /** The name under which a person types our commands in any directory. */
  ownName?: string
}

/** The port that the options ask for; undefined where none is wanted. A throw-away relay takes any free one, so that it disturbs nobody. */
export function requestedHttpPort(
  options: HttpOptions,
  env: Env,
  { home, isThrowAway }: { home?: string; isThrowAway?: boolean } = {},
): HttpPortRequest | undefined {
  if (options.http === false) return undefined
  const { port, host, allowRemote: mayBeRemote, open: isOpen, allowOrigin: allowOrigins } = options
  return {
    port: port ?? (isThrowAway ? 0 : portOf(env)),
    host,
    mayBeRemote,
    isOpen,
    allowOrigins,
    pageUrl: options.pageUrl && pageUrlOf(options.pageUrl),
    home,
    ownName: ownNameAnywhere(env),
  }
}

/** The origin of `--page-url`: plain HTTP, as the port speaks it, and without a path, because the page's own follows. */
function pageUrlOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isPlain = url?.protocol === 'http:' && url.username === '' && url.password === '' && url.search === ''
  if (url && isPlain && url.pathname === '/' && url.hash === '') return url.origin
  throw new CommandError(
    `--page-url is "${given}": it must be like http://localhost:${httpPortDefault}`,
    exitCodes.usage,
  )
}

export function httpArguments(wish: HttpPortRequest | undefined): string[] {
  if (!wish) return ['--no-http']
  const { port, host, mayBeRemote, isOpen, allowOrigins = [], pageUrl, home } = wish
  return [
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(host === undefined ? [] : ['--host', host]),
    ...(mayBeRemote ? ['--allow-remote'] : []),
    ...(isOpen ? ['--open'] : []),
    ...allowOrigins.flatMap((origin) => ['--allow-origin', origin]),
    ...(pageUrl === undefined ? [] : ['--page-url', pageUrl]),
    ...(home === undefined ? [] : ['--home', home]),
  ]
}

/** Whether an option asks for something that only a new daemon could give. */
export function asksForHttpPort({ http, port, host, open, allowOrigin, pageUrl }: HttpOptions): boolean {
  return http === false || [port, host, open, allowOrigin, pageUrl].some((given) => given !== undefined)
}

function portOf(env: Env): number | undefined {
  const given = setting(env, 'RELAY_PORT')
  if (given === undefined) return undefined
  const port = Number(given)
  if (/^\d+$/.test(given) && port <= 65_535) return port
  throw new CommandError(`RELAY_PORT is "${given}": it must be a whole number from 0 to 65535.`, exitCodes.config)
}

/** The hint where nobody asked for a port, and the usual one was not free; undefined otherwise. */
export function portMovedText(wish: HttpPortRequest | undefined, port: number | undefined): string | undefined {
  if (!wish || wish.port !== undefined || port === httpPortDefault) return undefined
  const where = port === undefined ? 'There is no HTTP' : `HTTP is at port ${port}`
  return `${where}: another program has ${httpPortDefault}. To choose a port: --port N`
}

/** The hint that a running daemon keeps the port it has. */
export function portStaysText(url: string | undefined): string {
  const now = url === undefined ? 'has no HTTP port' : `listens at ${url}`
  return `The running daemon ${now}, and that stays so. To change it: agent-relay daemon stop, then start it again.`
}
