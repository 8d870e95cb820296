// Chooses the HTTP port if nobody asked for one: the port that the last daemon took, else 8101, else the next free port.

import { createServer } from 'node:net'
import { RefusalError } from '../core/refusal-error.ts'
import { storedPort, storePort } from './data-directory.ts'

export const httpPortDefault = 8101
const portTriesMax = 20

/** The addresses of `localhost`. A client may use either of them, so the port must be free on both. */
export const loopbackAddresses = ['127.0.0.1', '::1'] as const

/** Tries to listen on `localhost` at this port. Returns the system's error code if that fails; undefined if the port is free. */
export async function loopbackFault(port: number): Promise<string | undefined> {
  for (const host of loopbackAddresses) {
    const code = await new Promise<string | undefined>((resolve) => {
      const server = createServer()
      server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      const place = { port, host, ipv6Only: host === '::1', exclusive: true }
      server.listen(place, () => server.close(() => resolve(undefined)))
    })
    if (code !== undefined && !lacksIpv6(host, code)) return code
  }
  return undefined
}

/** Whether listening failed only because the machine has no address ::1, as without IPv6. */
export function lacksIpv6(host: string, code: string | undefined): boolean {
  return host === '::1' && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')
}

/** The port that the next daemon tries first. */
export function usualPort(dataDir: string): number {
  return storedPort(dataDir) ?? httpPortDefault
}

/**
 * Listens on the usual port or the next free one. Clients have the address in their settings, so a port taken instead is stored for later daemons. Undefined if
 * no port is free.
 */
export async function listenOnUsualPort<T>(
  dataDir: string,
  listen: (port: number) => Promise<T>,
): Promise<T | undefined> {
  const usual = usualPort(dataDir)
  for (const port of new Set([usual, ...Array.from({ length: portTriesMax }, (_, i) => httpPortDefault + i)])) {
    try {
      const listening = await listen(port)
      if (port !== usual) storePort(dataDir, port)
      return listening
    } catch (error) {
      if (!(error instanceof RefusalError) || error.refusal.code !== 'port.taken') throw error
    }
  }
  return undefined
}
