// The HTTP port of a daemon: the options with which a command asks for it, the resulting settings, and the same as arguments of a background daemon.

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
  /** The port's number; 0 for any free port. Undefined if nobody has named one. */
  port?: number
  host?: string
  mayBeRemote?: boolean
  isOpen?: boolean
  allowOrigins?: string[]
  pageUrl?: string
  /** The workspace of callers without a credential. */
  home?: string
  /** The command with which a person starts this program from any directory. */
  ownName?: string
}

/**
 * Returns the port's settings from the options; undefined if they ask for no HTTP. A throw-away relay takes any free port, so that it takes none from other
 * programs.
 */
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

/** Returns the origin in `--page-url`, which must be plain HTTP, as the daemon speaks it, without a path, since the page has its own. */
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

/** Whether an option asks for something that a daemon which runs already cannot give. */
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

/** The hint that another program has the usual port; undefined if the person has named a port, or the daemon has the usual one. */
export function portMovedText(wish: HttpPortRequest | undefined, port: number | undefined): string | undefined {
  if (!wish || wish.port !== undefined || port === httpPortDefault) return undefined
  const where = port === undefined ? 'There is no HTTP' : `HTTP is at port ${port}`
  return `${where}: another program has ${httpPortDefault}. To choose a port: --port N`
}

/** The hint that the running daemon keeps the port that it has. */
export function portStaysText(url: string | undefined): string {
  const now = url === undefined ? 'has no HTTP port' : `listens at ${url}`
  return `The running daemon ${now}, and that stays so. To change it: agent-relay daemon stop, then start it again.`
}
