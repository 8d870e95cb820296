// Tells whether a host name or address is this machine itself. A name that only begins like a loopback address is not.

import { isIPv4 } from 'node:net'

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
