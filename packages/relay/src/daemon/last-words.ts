// Sends the last words of a turn as an answer to the agents whose messages began it, for a program whose model does not have our tools. The model calls no tool
// for this answer, so its person cannot refuse it: only people and agents on the owner's own account get one. The promise of an answer outlives the daemon,
// because the model was told whom it answers.

import { isDeepStrictEqual } from 'node:util'
import { answerAddress } from '@agent-relay/sdk/internal/injection'
import { daemonName, type InboxMessage, limits } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { workspaceAddress } from '../broker/messages/addresses.ts'
import type { Session } from '../broker/sessions/session.ts'
import { isChannel } from '../core/conversations.ts'
import { RefusalError, refusalTextWithoutFix } from '../core/refusal-error.ts'

/** A promise to answer messages with the last words of the turn in which the model got them. */
export interface PromisedAnswer {
  turn: string
  workspace: string
  /** The recipients, a list for each message that is answered: the names of a group's members, or one name. */
  to: string[][]
}

/**
 * Returns the recipients of the answer, for each message. Messages to a channel or to everyone, and messages of kind `status`, such as other answers, get none.
 */
export function answerAddressesOf(agent: string, messages: readonly InboxMessage[], isOwn: (name: string) => boolean) {
  const asking = messages.filter(({ kind, channel, to }) => kind !== 'status' && channel === undefined && to !== '*')
  const found: string[][] = []
  for (const message of asking) {
    const names = answerAddress(message).split(',')
    const readers = isOwn(message.from) ? names.filter((name) => name !== agent && isOwn(name)) : []
    if (readers.length > 0 && !found.some((each) => isDeepStrictEqual(each, readers))) found.push(readers)
  }
  return found
}

/** Returns a function that tells whether an agent runs on the owner's account on this machine, in this workspace or in another open one. */
export function ownAgentCheck(dispatch: Dispatch, dispatches: () => readonly Dispatch[]): (name: string) => boolean {
  return (name) => {
    const address = workspaceAddress(name)
    const place = address ? dispatches().find(({ workspace }) => workspace.name === address.workspace) : dispatch
    const agent = address?.rest ?? name
    if (!place || agent === daemonName || isChannel(agent)) return false
    const { sessions, store } = place.workspace
    // If the agent's home is another machine, somebody else may use the name there.
    const home = store.view.home(agent)?.machine
    return sessions.isOnOwnersAccount(agent) && (home === undefined || home === sessions.machine)
  }
}

/**
 * Sends a turn's last words under ids made from the turn, so that nothing is sent twice. If there are none, or the relay refuses them for good, the recipients
 * are told so. If an answer is refused only for now, the refusal is thrown after all others were sent, and the caller tries that one again later.
 */
export async function sendLastWords(dispatch: Dispatch, session: Session, { turn, to }: PromisedAnswer, words: string) {
  const { engine } = dispatch.workspace
  const agent = session.agent as string
  await dispatch.beginTurn(session, turn)
  const refusedForNow: RefusalError[] = []
  for (const [i, names] of to.entries()) {
    const reply = { to: names.length === 1 ? (names[0] as string) : names, kind: 'status' as const }
    const explain = (body: string) =>
      engine.submit({
        rule: 'message.send',
        input: { ...reply, body },
        by: daemonName,
        cause: `${turn}-${i}-no-answer`,
      })
    if (words === '') await explain(`${agent} has ended its turn without an answer.`)
    else
      await dispatch
        .call(session, 'message.send', { ...reply, body: clipped(words) }, `${turn}-${i}`)
        .catch((error) => {
          if (!(error instanceof RefusalError)) throw error
          if (error.refusal.retry) refusedForNow.push(error)
          else
            return explain(`${agent} has answered, and its answer was refused: ${refusalTextWithoutFix(error.refusal)}`)
        })
  }
  if (refusedForNow[0]) throw refusedForNow[0]
}

const clippedMark = ' … (the rest is in its terminal)'

function clipped(words: string): string {
  if (Buffer.byteLength(words) <= limits.bodyBytesMax) return words
  const room = limits.bodyBytesMax - Buffer.byteLength(clippedMark)
  return `${Buffer.from(words).subarray(0, room).toString().replace(/�+$/, '')}${clippedMark}`
}
