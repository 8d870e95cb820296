// Identifies the agent that a hook speaks for: by the agent's token, or by the hook's parent processes. One of these has started the agent's MCP
// server, by which the daemon knows the agent.

import { readFileSync } from 'node:fs'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'

/** Names of shells. A few shells may stand between a hook and its CLI, which is the first parent process that is not a shell. */
const shells = ['sh', 'bash', 'dash', 'zsh', 'fish', 'ksh', 'ash', 'busybox']
const ancestorsMax = 8

export type HookIdentity = { token: string } | { hosts: number[]; thread?: string }

/**
 * Returns the hook's identity. Undefined if the environment has a token but no agent name, which is a mistake: a worker has both, and a session that
 * a person started has at most a name.
 */
export function hookIdentity(env: Env): HookIdentity | undefined {
  const token = setting(env, 'RELAY_AGENT_TOKEN')
  if (token === undefined) return { hosts: hostProcesses(env) }
  return setting(env, 'RELAY_AGENT_NAME') === undefined ? undefined : { token }
}

/**
 * Returns process ids: the CLI's as the launcher names it, or else the parent process; after each shell also the shell's parent. The list ends at the
 * first process that is not a shell. A process above may be another agent that runs this CLI as a command, and that agent's messages are not for this
 * model. Outside Linux only the first id is known.
 */
export function hostProcesses(env: Env): number[] {
  const named = Number(setting(env, 'RELAY_HOST'))
  const found = [named > 1 ? named : process.ppid]
  try {
    while (found.length < ancestorsMax) {
      const stat = readFileSync(`/proc/${found.at(-1)}/stat`, 'latin1')
      // The program's name stands in brackets, and may contain brackets and blanks itself. So the other fields are read after the last bracket.
      const end = stat.lastIndexOf(')')
      const parent = Number(stat.slice(end + 2).split(' ')[1])
      if (!(parent > 1) || !shells.includes(stat.slice(stat.indexOf('(') + 1, end))) break
      found.push(parent)
    }
  } catch {}
  return found
}

/** The id of the CLI's conversation in which the hook runs; Claude Code and Codex call the conversation a session. */
export function cliConversationIdOf({ session_id: id }: Record<string, unknown>): string | undefined {
  return typeof id === 'string' && /^\S+$/.test(id) && id.length <= pipeLimits.idCharsMax ? id : undefined
}
