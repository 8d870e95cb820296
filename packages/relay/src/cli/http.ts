// The HTTP port as the command line wishes it: which one, for whom, and the same wish as arguments for a daemon in the background.

import { type Env, setting } from '@agent-relay/sdk/discover'
import { CommandError, exits, type Options } from './command.ts'

export const portDefault = 8101

export interface HttpWish {
  /** 0: any free one. */
  port: number
  host?: string
  mayBeRemote?: boolean
  isOpen?: boolean
  allowOrigins?: string[]
  /** The workspace that a caller without a credential means. */
  home?: string
}

/** Undefined where no port is wanted. A throw-away relay takes any free one, so that it is in nobody's way. */
export function httpWish(options: Options, env: Env, home?: string): HttpWish | undefined {
  if (options.http === false) return undefined
  const { port, host, allowRemote: mayBeRemote, open: isOpen, allowOrigin: allowOrigins } = options
  const isThrowAway = options.memory || options.test
  return {
    port: port ?? (isThrowAway ? 0 : portOf(env)),
    host,
    mayBeRemote,
    isOpen,
    allowOrigins,
    home: options.home ?? home,
  }
}

export function httpArgs(wish: HttpWish | undefined): string[] {
  if (!wish) return ['--no-http']
  const { port, host, mayBeRemote, isOpen, allowOrigins = [], home } = wish
  return [
    ...['--port', String(port)],
    ...(host === undefined ? [] : ['--host', host]),
    ...(mayBeRemote ? ['--allow-remote'] : []),
    ...(isOpen ? ['--open'] : []),
    ...allowOrigins.flatMap((origin) => ['--allow-origin', origin]),
    ...(home === undefined ? [] : ['--home', home]),
  ]
}

/** Did the caller ask for something that only a new daemon could give? */
export function hasHttpWish({ http, port, host, open, allowOrigin }: Options): boolean {
  return http === false || [port, host, open, allowOrigin].some((given) => given !== undefined)
}

function portOf(env: Env): number {
  const given = setting(env, 'RELAY_PORT')
  if (given === undefined) return portDefault
  const port = Number(given)
  if (/^\d+$/.test(given) && port <= 65_535) return port
  throw new CommandError(`RELAY_PORT is "${given}": it must be a whole number from 0 to 65535.`, exits.config)
}

/** A daemon that runs keeps the port it has. */
export function portStays(url: string | undefined): string {
  const now = url === undefined ? 'has no HTTP port' : `listens at ${url}`
  return `The daemon that runs already ${now}, and keeps it so. To change that: agent-relay daemon stop, then start it again.`
}
