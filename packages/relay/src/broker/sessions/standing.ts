// Standing: what a session may do, decided here when it opens and never changed afterwards. Which agent it acts as is decided in admission.ts.

import { type ActionRegistered, daemonName, type Network, type Who } from '@agent-relay/sdk/protocol'

/**
 * The entry by which a session came in. owner: the data directory's own socket, or the daemon itself. network: a port that asks for a key or a token.
 * open: a port that asks for nothing, where anybody can have a token made: nothing but the key counts there. lift: a lift's port.
 */
export type Door = 'owner' | 'network' | 'open' | 'lift'

/**
 * owner: it came by the owner's own socket. holder: it uses all the rights of the workspace key. agent: it has shown a credential, and acts
 * for one agent. nobody: it has shown nothing, and its name is only its word.
 */
export type Rank = 'owner' | 'holder' | 'agent' | 'nobody'

export interface Standing {
  readonly door: Door
  readonly rank: Rank
  /** A model's calls come in turns, and limits guard against loops between models. Programs and people have none. */
  readonly kind: 'model' | 'program'
  /** It has shown the workspace key. Its rank is not `holder` where it acts for one agent alone, such as an MCP session. */
  readonly hasKey: boolean
  /** It is the page of a person who has logged in. */
  readonly isPage?: boolean
  /** The machine whose daemon opened it; unset where the workspace lives on one machine alone. */
  readonly machine?: string
}

/** The origin of a session, as its wire knows it. Everything else follows from the credentials that the caller shows. */
export interface SessionOrigin {
  readonly door: Door
  readonly kind: Standing['kind']
  /** Each of its calls stands alone, and no session remembers the one before. */
  readonly isStateless?: boolean
  /** The page of a person who has logged in. */
  readonly isPage?: boolean
  /** For a run: the standing of who asked for it. */
  readonly asker?: Standing
}

/** `name`: the agent that it says it is. */
export function standingOf(
  { door, kind, isStateless, isPage, asker }: SessionOrigin,
  shown: { hasKey: boolean; name?: string },
  machine?: string,
): Standing {
  if (asker) return standingOfRun(asker)
  // A lift's port serves its roles, whoever comes.
  const hasKey = shown.hasKey && door !== 'lift'
  // The key proves which name a model may take, and no more: its holder would hear of everyone's mail, and take a live agent's name as its own.
  const isOneAgent = isStateless ? shown.name !== undefined : kind === 'model'
  const page = isPage ? { isPage } : {}
  return fixed({ door, rank: rankOf(door, hasKey && !isOneAgent, hasKey), kind, hasKey, ...page, machine })
}

/** A run may do what its asker may, as one agent alone. */
function standingOfRun({ door, hasKey, machine }: Standing): Standing {
  return fixed({ door, rank: rankOf(door, false, hasKey), kind: 'model', hasKey, machine })
}

function rankOf(door: Door, isHolder: boolean, hasKey: boolean): Rank {
  if (isHolder) return 'holder'
  if (door === 'owner') return 'owner'
  return hasKey || door === 'network' ? 'agent' : 'nobody'
}

/** The standing of the daemon's own sessions: the presence of a worker's program, and the actions that the daemon offers. */
export function ownStanding(machine?: string): Standing {
  return fixed({ door: 'owner', rank: 'owner', kind: 'program', hasKey: false, machine })
}

/** The standing of commands that the daemon gives by itself. */
export const daemonStanding = fixed({ door: 'owner', rank: 'holder', kind: 'program', hasKey: true })

/** The standing of a caller who is not known any more. */
export const leastStanding = fixed({ door: 'lift', rank: 'nobody', kind: 'model', hasKey: false })

/** The standing of an agent whose own standing is not known any more: with a token, and no key. */
export const tokenStanding = fixed({ door: 'network', rank: 'agent', kind: 'model', hasKey: false })

/** The compiler forbids writing to a standing; this forbids what goes around the compiler. */
function fixed(standing: Standing): Standing {
  return Object.freeze(standing)
}

/** Has it shown what an operation asks for over the network? Whether it may start programs is decided in spawning.ts. */
export function reaches({ door, hasKey }: Standing, network: Network): boolean {
  if (network === 'never') return false
  if (network === 'lift' || door === 'owner' || hasKey) return true
  if (door === 'lift') return false
  if (network === 'open' || network === 'run') return true
  return door === 'network' && network !== 'key'
}

/** Does its rank suffice for the column `who` of an operation? */
export function mayAsk({ rank }: Standing, who: Who): boolean {
  return who !== 'holder' || rank === 'holder'
}

/** The credentials of a session, as a fact may tell them. */
export function authorityOf({ door, hasKey }: Standing): NonNullable<ActionRegistered['authority']> {
  if (door === 'owner') return 'owner'
  if (hasKey) return 'key'
  return door === 'network' ? 'token' : 'nobody'
}

/** No agent can have this name. */
const nobodyName = '(nobody)'

/** The actor of a session without a name: for the key's holder the workspace itself, on an open port nobody; all others may not act. */
export function namelessActor({ rank, door }: Standing): string | undefined {
  if (rank === 'holder') return daemonName
  return door === 'open' ? nobodyName : undefined
}
