// What the person at this machine is called in a workspace.

import { userInfo } from 'node:os'
import { daemonName } from '@agent-relay/sdk'

/** The login name made to fit the pattern of names. */
export function loginName(): string {
  const fitted = login()
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
  return fitted === '' || fitted === daemonName ? 'human' : fitted
}

function login(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry in the system's list, as containers have it.
    return process.env.USER ?? process.env.LOGNAME ?? ''
  }
}
