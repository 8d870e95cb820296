// Taking from the inbox: the rule picks and marks, here the bodies are added, and the session remembers what left with the answer.

import type { InboxMessage, OutputOf, ParsedInputOf } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../refusal-error.ts'
import type { Answer, Asking } from './call.ts'
import type { Workspace } from './workspace.ts'

export async function take(
  { engine, store }: Workspace,
  { session, by, id }: Asking,
  input: ParsedInputOf<'inbox.take'>,
): Promise<Answer<OutputOf<'inbox.take'>>> {
  const reply = await engine.submit({ rule: 'inbox.take', input, by, cause: id, session: session.id })
  if ('refusal' in reply) throw new RefusalError(reply.refusal)
  const { messages: ids, more, shown = [] } = reply.outcome as { messages: string[]; more: number; shown?: string[] }
  const messages: InboxMessage[] = reply.found
    ? store.queries.offered(reply.found, 'take')
    : store.queries.inboxMessages(by, ids)
  const handed = messages.filter(({ id }) => !shown.includes(id))
  return { output: { messages, more }, onFlushed: () => remember(session.handed, handed) }
}

export function remember(handed: Set<string>, messages: InboxMessage[]): void {
  for (const { id, receipt } of messages) if (receipt !== 'read') handed.add(id)
}
