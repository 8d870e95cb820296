// How long our programs wait for each other, in one table. Each limit is many times the usual wait, so that even a slow or busy machine does not reach it. The
// hooks of CLIs and the MCP stdio pipe load this file at every start. The waits of programs that use the SDK are in limits.ts, because a web page has no
// environment variables.

import { setting } from './settings.ts'

interface WaitRow {
  what: string
  /** The usual wait on a machine with two slow cores and a little other work. */
  usualMs: number
  limitMs: number
  /** Maximum to which RELAY_PATIENCE may raise the limit. A CLI ends a hook after five seconds and shows an error, so no hook may wait that long. */
  raisedLimitMsMax?: number
  /** What happens when the limit is reached. */
  afterwards: string
}

const waitTable = {
  ownStart: {
    what: 'a daemon that a command has started, as long as its process lives',
    usualMs: 1_000,
    limitMs: 600_000,
    afterwards: 'the command says the pid and the log; the daemon goes on',
  },
  otherStart: {
    what: 'a daemon of somebody else that holds the data directory and does not answer',
    usualMs: 1_000,
    limitMs: 60_000,
    afterwards:
      'one that has been running is said to hold it, with its pid and for how long; one that starts or stops is still waited for',
  },
  stop: {
    what: 'a daemon that was asked to stop',
    usualMs: 2_000,
    limitMs: 60_000,
    afterwards: '`daemon stop` says that it still runs',
  },
  away: {
    what: 'a daemon that is away while an agent calls a tool, as during a restart',
    usualMs: 1_000,
    limitMs: 5_000,
    afterwards: 'the agent is told that the daemon does not run, and whether its call may have been carried out',
  },
  owed: {
    what: 'answers to what a host has asked before it closed its end of the pipe',
    usualMs: 50,
    limitMs: 5_000,
    afterwards: 'the pipe ends without them',
  },
  hook: {
    what: 'an answer to a hook of a CLI',
    usualMs: 100,
    limitMs: 3_000,
    raisedLimitMsMax: 4_000,
    afterwards: 'the hook ends without a word; the mail comes at the next one',
  },
  hookInput: {
    what: 'what a CLI writes to its hook',
    usualMs: 10,
    limitMs: 2_000,
    raisedLimitMsMax: 3_000,
    afterwards: 'the hook goes on without it',
  },
  edit: {
    what: 'the answer whether a file may be edited',
    usualMs: 20,
    limitMs: 200,
    raisedLimitMsMax: 1_000,
    afterwards: 'the edit goes ahead, and is noted',
  },
  completion: {
    what: 'names for a shell that completes a word',
    usualMs: 200,
    limitMs: 2_000,
    afterwards: 'none are offered',
  },
  workerStart: {
    what: "a worker's first screen",
    usualMs: 5_000,
    limitMs: 45_000,
    afterwards: 'whoever hired it is told that it is not ready, with its screen; it goes on',
  },
  acpStart: {
    what: 'the first answer of an agent that is spoken to by ACP',
    usualMs: 3_000,
    limitMs: 60_000,
    afterwards: 'the worker has failed to start, and says why',
  },
  cliDaemon: {
    what: "an answer of a CLI's own server (Codex)",
    usualMs: 100,
    limitMs: 10_000,
    afterwards: 'mail goes another way',
  },
  prove: {
    what: 'an answer, a wake-up or a session that comes back, when `agent-relay prove` tries a promise',
    usualMs: 1_000,
    limitMs: 60_000,
    afterwards: 'that promise counts as broken',
  },
  doctorServer: {
    what: "the tools of an editor's entry, when `doctor` tries it",
    usualMs: 1_000,
    limitMs: 20_000,
    afterwards: '`doctor` says so',
  },
} satisfies Record<string, WaitRow>

export type WaitName = keyof typeof waitTable
export const waitLimits: Readonly<Record<WaitName, Readonly<WaitRow>>> = waitTable

/** The factor that RELAY_PATIENCE sets for an especially slow machine: 3 makes every limit three times as long. It never shortens a limit. */
function patience(): number {
  const given = Number(setting(process.env, 'RELAY_PATIENCE'))
  return given >= 1 && given <= 100 ? given : 1
}

export function waitLimitMs(name: WaitName): number {
  const { limitMs, raisedLimitMsMax = Number.POSITIVE_INFINITY } = waitLimits[name]
  return Math.min(raisedLimitMsMax, Math.round(limitMs * patience()))
}
