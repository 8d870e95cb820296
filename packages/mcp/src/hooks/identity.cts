// Whom a hook speaks for that has no token: the processes above it, one of which has started the agent's MCP server, and the conversation that it
// belongs to. The daemon knows which agent that is.

import { readFileSync } from 'node:fs'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'

/** Between a hook and its host stand at most a few of these: the first that is not one is the host. */
const shells = ['sh', 'bash', 'dash', 'zsh', 'fish', 'ksh', 'ash', 'busybox']
const ancestorsMax = 8

/**
 * The process that the launcher says is the host, or else the parent, and while that is a shell, what started it: the same host started the
 * agent's MCP server, so the daemon knows whom a hook without a token speaks for. A process above the host may be another agent, which runs
 * this one as a command: its messages are not for this model. Elsewhere than on Linux one process is known.
 */
export function hosts(host: string | undefined): number[] {
  const found = [Number(host) > 1 ? Number(host) : process.ppid]
  try {
    while (found.length < ancestorsMax) {
      const stat = readFileSync(`/proc/${found.at(-1)}/stat`, 'latin1')
      // The name in it may hold anything, brackets and blanks too: what follows is behind the last bracket.
      const end = stat.lastIndexOf(')')
      const parent = Number(stat.slice(end + 2).split(' ')[1])
      if (!(parent > 1) || !shells.includes(stat.slice(stat.indexOf('(') + 1, end))) break
      found.push(parent)
    }
  } catch {}
  return found
}

/** What Claude Code and Codex call a session is one conversation. */
export function threadOf({ session_id: id }: Record<string, unknown>): string | undefined {
  return typeof id === 'string' && /^\S+$/.test(id) && id.length <= pipeLimits.idCharsMax ? id : undefined
}
