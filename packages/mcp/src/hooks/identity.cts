// The agent that a hook speaks for: by its token, or by the processes above the hook, one of which has started the agent's MCP server. The daemon
// knows which agent that is.

import { readFileSync } from 'node:fs'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'

/** Names of shells: at most a few stand between a hook and its host, which is the first process that is not a shell. */
const shells = ['sh', 'bash', 'dash', 'zsh', 'fish', 'ksh', 'ash', 'busybox']
const ancestorsMax = 8

export type HookIdentity = { token: string } | { hosts: number[]; thread?: string }

/** Returns the identity of the hook. Undefined for a token without a name, a mistake: a worker has both, and a person's own session at most a name. */
export function hookIdentity(env: Env): HookIdentity | undefined {
  const token = setting(env, 'RELAY_AGENT_TOKEN')
  if (token === undefined) return { hosts: hostProcesses(env) }
  return setting(env, 'RELAY_AGENT_NAME') === undefined ? undefined : { token }
}

/**
 * Returns process ids: the host that the launcher names, or else the parent process, and above it the parents of shells. A process above the host may be another
 * agent, which runs this one as a command: its messages are not for this model. Outside Linux only the first process is known.
 */
export function hostProcesses(env: Env): number[] {
  const named = Number(setting(env, 'RELAY_HOST'))
  const found = [named > 1 ? named : process.ppid]
  try {
    while (found.length < ancestorsMax) {
      const stat = readFileSync(`/proc/${found.at(-1)}/stat`, 'latin1')
      // The program's name may contain brackets and blanks: the other fields follow its last bracket.
      const end = stat.lastIndexOf(')')
      const parent = Number(stat.slice(end + 2).split(' ')[1])
      if (!(parent > 1) || !shells.includes(stat.slice(stat.indexOf('(') + 1, end))) break
      found.push(parent)
    }
  } catch {}
  return found
}

/** The conversation that the hook belongs to: Claude Code and Codex call it a session. */
export function threadOf({ session_id: id }: Record<string, unknown>): string | undefined {
  return typeof id === 'string' && /^\S+$/.test(id) && id.length <= pipeLimits.idCharsMax ? id : undefined
}
