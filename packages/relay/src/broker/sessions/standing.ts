// Standing: a session's rights, decided here when the session opens and never changed afterwards. admission.ts decides which agent the session acts as.

import { type ActionRegistered, type CallerRank, daemonName, type NetworkCredential } from '@agent-relay/sdk/protocol'

/**
 * The way by which a session came in. `owner`: the data directory's own socket, or the daemon itself. `network`: a port that asks for a key or a token. `open`:
 * a port that asks for nothing, where anybody can have a token made, so that only the key counts. `lift`: the port of `agent-relay lift`.
 */
export type Door = 'owner' | 'network' | 'open' | 'lift'

/**
 * The rank of a session. `owner`: it came by the owner's own socket. `holder`: it uses all the rights of the workspace key. `agent`: it has shown a credential,
 * and acts for one agent. `nobody`: it has shown nothing, and nothing proves its name.
 */
export type Rank = 'owner' | 'holder' | 'agent' | 'nobody'

export interface Standing {
  readonly door: Door
  readonly rank: Rank
  /** The kind of caller. A model's calls come in turns, and limits guard against loops between models; programs and people have neither. */
  readonly kind: 'model' | 'program'
  /** Whether the session has shown the workspace key. Its rank is still not `holder` if it acts for one agent alone, such as an MCP session. */
  readonly hasKey: boolean
  /** Whether the session is the web page of a person who has logged in. */
  readonly isPage?: boolean
  /** The machine whose daemon opened the session; unset if the workspace lives on one machine alone. */
  readonly machine?: string
}

/** What the connection knows about a new session. The session's rights follow from this and from the credentials that it shows. */
export interface SessionOrigin {
  readonly door: Door
  readonly kind: Standing['kind']
  /** Whether each call is independent, and nothing is remembered from one call to the next. */
  readonly isStateless?: boolean
  /** Whether the connection is the web page of a person who has logged in. */
  readonly isPage?: boolean
  /** The rights of the session that asked for a run, if the new session is that run's. */
  readonly asker?: Standing
}

/** Returns the standing of a new session. `name`: the agent that the client says it is. */
export function standingOf(
  { door, kind, isStateless, isPage, asker }: SessionOrigin,
  shown: { hasKey: boolean; name?: string },
  machine?: string,
): Standing {
  if (asker) return standingOfRun(asker)
  // The port of `agent-relay lift` serves the lift's roles and takes no key.
  const hasKey = shown.hasKey && door !== 'lift'
  // A model never gets a holder's rights, with which it would hear everyone's messages and could take a live agent's name: its key only proves which name it
  // may take.
  const isOneAgent = isStateless ? shown.name !== undefined : kind === 'model'
  const page = isPage ? { isPage } : {}
  return frozen({ door, rank: rankOf(door, hasKey && !isOneAgent, hasKey), kind, hasKey, ...page, machine })
}

/** Returns the standing (rights) of a run's session: the rights of the run's asker, limited to one agent. */
function standingOfRun({ door, hasKey, machine }: Standing): Standing {
  return frozen({ door, rank: rankOf(door, false, hasKey), kind: 'model', hasKey, machine })
}

function rankOf(door: Door, isHolder: boolean, hasKey: boolean): Rank {
  if (isHolder) return 'holder'
  if (door === 'owner') return 'owner'
  return hasKey || door === 'network' ? 'agent' : 'nobody'
}

/** Returns the standing of the daemon's own sessions: for a worker's program, and for the daemon's actions. */
export function daemonSessionStanding(machine?: string): Standing {
  return frozen({ door: 'owner', rank: 'owner', kind: 'program', hasKey: false, machine })
}

/** The standing of commands that the daemon gives by itself. */
export const daemonStanding = frozen({ door: 'owner', rank: 'holder', kind: 'program', hasKey: true })

/** The rights of a run whose asker is not known any more: none. */
export const standingWithoutRights = frozen({ door: 'lift', rank: 'nobody', kind: 'model', hasKey: false })

/** The rights of an agent whose own rights are not known any more: those of a token without the key. */
export const tokenStanding = frozen({ door: 'network', rank: 'agent', kind: 'model', hasKey: false })

/** Freezes a standing, so that not even code that gets around its readonly type can change it. */
function frozen(standing: Standing): Standing {
  return Object.freeze(standing)
}

/** Whether the session has shown enough for an operation over the network. workers/spawning.ts decides whether it may start programs. */
export function hasCredentialFor({ door, hasKey }: Standing, network: NetworkCredential): boolean {
  if (network === 'never') return false
  if (network === 'lift' || door === 'owner' || hasKey) return true
  if (door === 'lift') return false
  if (network === 'open' || network === 'run') return true
  return door === 'network' && network !== 'key'
}

/** Whether the session's rank suffices for what the operation's field `who` requires. */
export function hasRankFor({ rank }: Standing, who: CallerRank): boolean {
  return who !== 'holder' || rank === 'holder'
}

/** Returns the kind of credential that a session has shown, as it is stored with the actions that the session offers. */
export function authorityOf({ door, hasKey }: Standing): NonNullable<ActionRegistered['authority']> {
  if (door === 'owner') return 'owner'
  if (hasKey) return 'key'
  return door === 'network' ? 'token' : 'nobody'
}

/** The name under which a session without a name acts; no agent can have it. */
const nobodyName = '(nobody)'

/** Returns the name under which a session without a name acts: the workspace itself for the key's holder, nobody on an open port, and none elsewhere. */
export function namelessActor({ rank, door }: Standing): string | undefined {
  if (rank === 'holder') return daemonName
  return door === 'open' ? nobodyName : undefined
}
