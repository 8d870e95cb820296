// Opens sessions and registers agents. This file checks credentials; sessions/standing.ts decides a session's rights, and the rules in core/ decide its name.

import {
  daemonName,
  type Hello,
  issuesText,
  limits,
  type OutputOf,
  type ParsedInputOf,
  relayMailTools,
  type Welcome,
} from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { RefusalError } from '../core/refusal-error.ts'
import type { Steps } from '../core/steps.ts'
import type { WorkspaceCore } from './call.ts'
import { accepted } from './commands.ts'
import { ReadTimeBudget } from './long-reads.ts'
import { parseInput } from './operation-input.ts'
import { type Credentials, hashSecret, newSecret } from './sessions/credentials.ts'
import { mailToolsOf, type Session } from './sessions/session.ts'
import { type SessionOrigin, standingOf } from './sessions/standing.ts'

/** The fields of a client's HELLO that are checked here; the agent's profile is checked when the agent is registered. */
const helloSchema = z.object({
  key: z.string().optional(),
  token: z.string().optional(),
  session: z.string().max(limits.idCharsMax).optional(),
  calls: z.array(z.string()).optional(),
  host: z.number().int().optional(),
  process: z.number().int().positive().optional(),
  cwd: z.string().max(limits.pathCharsMax).optional(),
  thread: z.string().max(limits.idCharsMax).optional(),
})

/**
 * Maximum number of ancestor processes that a hook may name in HELLO (a client's first message): one or two shells may run between the hook and its agent CLI.
 */
const hostsMax = 16

/** Checks the HELLO (first message) of an untrusted client, and returns it. */
export function checkHello(payload: unknown): Hello {
  const hello = typeof payload === 'object' && payload !== null ? payload : {}
  const { error } = helloSchema.safeParse(hello)
  if (error === undefined) return hello
  throw new RefusalError('frame.invalid', { why: `HELLO: ${issuesText(error.issues)}` })
}

/** Checks a workspace key and returns its hash. An unknown key and another workspace's key get the same refusal. */
export function authenticate({ credentials }: { credentials: Credentials }, key: string): string {
  if (credentials.isKey(key)) return hashSecret(key)
  throw new RefusalError('auth.denied', { why: 'the workspace key is not valid here.' })
}

/** The workspace and the daemon where a session opens. */
interface SessionPlace {
  workspace: WorkspaceCore & { readonly id: string }
  daemon: { version: string; roles?: readonly string[] }
}

/** Opens a session, over any kind of connection. The rights that it gets here never change. */
export async function openSession(
  opening: SessionPlace,
  origin: SessionOrigin,
  hello: Hello,
): Promise<{ session: Session; welcome: Welcome }> {
  const { workspace, daemon } = opening
  const { name, key, session: resume, calls: unanswered } = hello
  const keyHash = key === undefined ? undefined : authenticate(workspace, key)
  const isByWord = needsNoProof(origin, hello)
  if (isByWord) assertNameAllowed(opening, origin, hello)
  const standing = standingOf(origin, { hasKey: keyHash !== undefined, name }, workspace.sessions.machine)
  const told = origin.door === 'owner' ? { host: hello.host, process: hello.process, directory: hello.cwd } : {}
  const session = workspace.sessions.open(standing, { keyHash, resume, unanswered, ...told })
  try {
    const registered = await registerFromHello(workspace, session, hello, isByWord)
    const welcome: Welcome = {
      session: session.ticket,
      workspace: workspace.name,
      workspaceId: workspace.id,
      version: daemon.version,
      agent: registered?.agent,
      token: registered?.token,
      because: registered?.because,
      sendTool: hello.hosts && registered && sendToolOf(workspace.sessions, registered.agent),
      seq: workspace.store.journal.lastSeq,
    }
    return { session, welcome }
  } catch (error) {
    workspace.sessions.end(session)
    throw error
  }
}

/**
 * Whether the caller may use a name without proof. On a port that asks for no credential, models and single stateless calls may, so that the same name stays
 * the same agent. A program with a lasting connection may not: if its name is in use, it gets a numbered name.
 */
function needsNoProof({ door, kind, isStateless }: SessionOrigin, { name, token, key }: Hello): boolean {
  const asksForNothing = door === 'open' || door === 'lift'
  return (
    asksForNothing && (kind === 'model' || isStateless === true) && name !== undefined && (token ?? key) === undefined
  )
}

/**
 * Refuses names that need proof: on the port of `agent-relay lift` every name but the declared roles, and everywhere the name of a person, which needs the
 * workspace key.
 */
function assertNameAllowed(
  { workspace, daemon }: SessionPlace,
  { door }: SessionOrigin,
  { name = '', type }: Hello,
): void {
  if (door === 'lift' && !daemon.roles?.includes(name))
    throw new RefusalError('auth.denied', {
      why: `there is no role "${name}" on this lift: ${daemon.roles?.join(', ')}.`,
    })
  if (type === 'human' || workspace.store.view.agent(name)?.type === 'human')
    throw new RefusalError('auth.denied', { why: `${name} is a person: show the workspace key.` })
}

async function registerFromHello(
  workspace: WorkspaceCore,
  session: Session,
  hello: Hello,
  isByWord: boolean,
): Promise<{ agent: string; token?: string; because?: string } | undefined> {
  if (hello.hosts !== undefined && !isByWord) return bindHookSession(workspace, session, hello.hosts, hello.thread)
  if (hello.name === undefined && hello.token === undefined) return undefined
  const { key: _, session: __, ...profile } = hello
  const name = hello.name ?? workspace.credentials.agentOfToken(hello.token as string)
  if (name === undefined) throw new RefusalError('auth.denied', { why: 'the token is not known here.' })
  const proof = isByWord ? 'word' : session.standing.hasKey ? 'key' : undefined
  return register(workspace, session, parseInput('agent.register', { ...profile, name }), { proof })
}

/** Returns the name of the agent's tool for sending messages; undefined if it is the default, `relay_send`. */
function sendToolOf(sessions: WorkspaceCore['sessions'], agent: string): string | undefined {
  const { send } = mailToolsOf(sessions.ofAgent(agent))
  return send === relayMailTools.send ? undefined : send
}

/** Binds a hook's session to the agent of the CLI that runs the hook. Asks for no token: any process of the owner's account could read the token anyway. */
function bindHookSession(
  { sessions }: WorkspaceCore,
  session: Session,
  hosts: readonly number[],
  thread: string | undefined,
): { agent: string } {
  const isList = Array.isArray(hosts) && hosts.length <= hostsMax && hosts.every(Number.isInteger)
  const agent = isList && session.standing.door === 'owner' ? sessions.agentOfHost(hosts, thread) : undefined
  if (agent === undefined) throw new RefusalError('agent.required')
  sessions.bind(session, agent)
  sessions.recordHook(agent)
  return { agent }
}

interface Registration {
  /** Proof for the name besides a token. `key`: the session showed the workspace key when it opened. `word`: the name is believed without proof. */
  proof?: 'key' | 'word'
  /** The expiry time of the issued token, in milliseconds since 1970; unset if it does not expire. */
  tokenUntil?: number
  /** Whether the daemon chose the name. The session may later replace such a name by another. */
  isNameGiven?: boolean
}

export async function register(
  workspace: WorkspaceCore,
  session: Session,
  { token, ...profile }: ParsedInputOf<'agent.register'>,
  { proof, tokenUntil, isNameGiven = false }: Registration = {},
): Promise<OutputOf<'agent.register'>> {
  const { engine, sessions } = workspace
  const isAnother = session.agent !== undefined && session.agent !== profile.name
  const isHolder = session.standing.rank === 'holder'
  if (isAnother && !isHolder && !session.isNameGiven) {
    throw new RefusalError('auth.denied', {
      why: `this session acts as ${session.agent}; open another for ${profile.name}.`,
    })
  }
  if (token !== undefined && workspace.credentials.agentOfToken(token) !== profile.name) {
    throw new RefusalError('auth.denied', { why: `the token is not one of ${profile.name}'s.` })
  }
  if (token !== undefined) session.shownCredentials.tokenHashes.add(hashSecret(token))
  const hasKey = isHolder || proof === 'key'
  if (profile.type === 'human' && !hasKey) {
    throw new RefusalError('auth.denied', { why: 'an agent of type human needs the workspace key.' })
  }
  const proven = hasKey || proof === 'word' || token !== undefined || session.agent === profile.name
  // Registrations of a name family (`Ada`, `Ada-2`, …) run one after another: the second is decided when the first is bound and counts as live.
  return sessions.registrations.run(profile.name.replace(/-\d+$/, ''), async () => {
    const fresh = newSecret('at')
    // When a provisional name (given by the daemon, not yet stored) is stored, its agent keeps the id that others have seen, and gets the messages sent to
    // everybody since its session opened.
    const { provisional } = session
    const { id: mint, heardFrom } = provisional?.profile.name === profile.name ? provisional : {}
    const submitted = engine.submit({
      rule: 'agent.register',
      input: {
        ...profile,
        proven,
        isHolder: hasKey,
        mayRetake: session.standing.door === 'owner',
        tokenHash: hashSecret(fresh),
        tokenUntil,
        heardFrom,
        givesUp: session.isNameGiven ? session.agent : undefined,
      },
      newId: mint,
      // Where machines share the workspace, the daemon gives this command in its own name: only an agent's home machine may speak as the agent, and the
      // requested name may belong to an agent of another machine.
      by: sessions.machine === undefined ? profile.name : daemonName,
      // The command's id is new, not the call's id: a stranger who overheard that id and used it again would get the stored answer, and act as its agent.
      cause: workspace.ids('c'),
    })
    const { outcome } = accepted(await submitted)
    refuseRevoked(session)
    const { agent, id, issued, because } = outcome as RegisterOutcome
    // The session may have chosen another name while the given one was being stored: it keeps its own choice.
    if (isNameGiven && session.agent !== profile.name) return { agent, id }
    sessions.bind(session, agent)
    if (isNameGiven) sessions.markNameGiven(session)
    if (session.standing.kind === 'model' && session.isResumed) await restoreHeldMessages(workspace, session, agent)
    return { agent, id, ...(issued ? { token: fresh } : {}), ...(because === undefined ? {} : { because }) }
  })
}

/** The outcome of the rule `agent.register`. */
type RegisterOutcome = {
  agent: string
  id: string
  issued?: boolean
  because?: string
}

/**
 * After a restart of the daemon, finds in the database which messages were reserved for this session. Releases those whose answer never arrived, so that the
 * next taker gets them, and a reply to a waiting call, since the database does not say which call waited. All others count as handed out.
 */
async function restoreHeldMessages(
  { store, engine, ids, reads }: WorkspaceCore,
  session: Session,
  agent: string,
): Promise<void> {
  const { unanswered } = session
  const lost = new Set(unanswered.flatMap((call) => store.recordedAnswer(agent, call)?.outcome.messages ?? []))
  const letGo: string[] = []
  const look = function* (): Steps<void> {
    for (const each of store.view.inbox.unread(agent, {})) {
      yield
      if (!each || each.receipt?.session !== session.id || each.receipt.until === undefined) continue
      const { head, receipt } = each
      const isHoldOnly = receipt.route === undefined
      const wasLost = isHoldOnly || lost.has(head.id) || (receipt.route === 'wait' && unanswered.length > 0)
      if (wasLost) letGo.push(head.id)
      else session.handedMessages.add(head.id)
    }
  }
  await reads.run(look(), new ReadTimeBudget(), session.ended)
  if (letGo.length === 0) return
  const input = { messages: letGo }
  await engine.submit({ rule: 'inbox.let-go', input, by: agent, cause: ids('d'), session: session.id })
}

/** Refuses a session whose key or token was revoked while the call was on its way. */
export function refuseRevoked({ ended }: Session): void {
  if (ended.reason instanceof RefusalError) throw ended.reason
}
