// Taking from the inbox: the rule picks and marks, here the bodies are added, and the session remembers what left with the answer.

import type { Fact, InboxMessage, OutputOf, ParsedInputOf } from '@agent-relay/sdk/protocol'
import { takenBy } from '../core/inbox.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Answer, Asking } from './call.ts'
import type { Workspace } from './workspace.ts'

type Input = ParsedInputOf<'inbox.take'>
type Taken = Answer<OutputOf<'inbox.take'>>

/** A hint may be lost, and a hold may run out without one: a waiting take looks again this often. */
const lookAgainMs = 30_000

export async function take(workspace: Workspace, asking: Asking, { wait, ...input }: Input): Promise<Taken> {
  return wait === undefined ? takeNow(workspace, asking, input) : takeWaiting(workspace, asking, input, wait)
}

async function takeNow({ engine, store }: Workspace, { session, by, id }: Asking, input: Input): Promise<Taken> {
  const reply = await engine.submit({ rule: 'inbox.take', input, by, cause: id, session: session.id })
  if ('refusal' in reply) throw new RefusalError(reply.refusal)
  const { messages: ids, more, shown = [] } = reply.outcome as { messages: string[]; more: number; shown?: string[] }
  const messages: InboxMessage[] = reply.found
    ? store.queries.offered(reply.found, takenBy(input.route))
    : store.queries.inboxMessages(by, ids)
  // A hook says itself, by inbox.offer, that it has put them before the agent: it may end before it could.
  if (input.route === 'hook') return { output: { messages, more } }
  const isHanded = ({ id, receipt }: InboxMessage) => receipt !== 'read' && !shown.includes(id)
  return { output: { messages, more }, handed: messages.filter(isHanded).map(({ id }) => id) }
}

const waiting = new WeakMap<Workspace, Map<string, AbortController>>()

/** Hosts start one waiter per event and tell us of none that they gave up: the newest is the one that is heard. */
async function takeWaiting(workspace: Workspace, asking: Asking, input: Input, waitMs: number): Promise<Taken> {
  const { by, id, abandoned } = asking
  const { clock, waits } = workspace
  const waiters = waiting.get(workspace) ?? new Map<string, AbortController>()
  waiting.set(workspace, waiters)
  waiters.get(by)?.abort()
  const own = new AbortController()
  waiters.set(by, own)
  const over = AbortSignal.any([own.signal, abandoned, waits.stopped])
  const until = clock.now() + waitMs
  try {
    for (let look = 0; !over.aborted && clock.now() < until; look++) {
      const hint = messageFor(workspace, by, Math.min(lookAgainMs, until - clock.now()), over)
      const taken = await takeNow(workspace, look === 0 ? asking : { ...asking, id: `${id}/${look}` }, input)
      if (taken.output.messages.length > 0) {
        hint.cancel()
        return taken
      }
      await hint.came
    }
    return { output: { messages: [], more: 0 } }
  } finally {
    if (waiters.get(by) === own) waiters.delete(by)
  }
}

/** Resolves when a message may have come for the agent, after `ms`, or when nobody waits any more. */
function messageFor({ hub, sessions, store, clock }: Workspace, agent: string, ms: number, over: AbortSignal) {
  let cancel = () => {}
  const came = new Promise<void>((resolve) => {
    const done = () => {
      for (const stop of listening) stop()
      alarm.cancel()
      over.removeEventListener('abort', done)
      resolve()
    }
    const isForIt = (fact: Fact) =>
      fact.type === 'message.created'
        ? store.view.isMember(agent, fact.conversation)
        : fact.type === 'delivery.released' && fact.agent === agent
    const listening = [
      hub.listen((entries) => entries.some(({ facts }) => facts.some(isForIt)) && done()),
      // What a vanished session held is free again.
      sessions.onChange((changed) => changed === agent && done()),
    ]
    const alarm = clock.after(ms, done)
    over.addEventListener('abort', done)
    cancel = done
  })
  return { came, cancel }
}
