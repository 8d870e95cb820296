// A workspace as the party that a connection talks to: what its frames ask goes to dispatch, on a session that entered by some door.

import type { Hello, Welcome } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Session } from '../broker/sessions.ts'
import type { Party, Seat } from './connection.ts'
import { servePipe } from './pipe.ts'

/** A workspace on its owner's socket. */
export function ownersParty(dispatch: Dispatch): Party {
  return {
    hello: async (hello: Hello) => seatOf(dispatch, await dispatch.hello('owner', hello)),
    pipe: (socket, hello, early) => servePipe(dispatch, socket, hello, early),
  }
}

export function seatOf(dispatch: Dispatch, { session, welcome }: { session: Session; welcome: Welcome }): Seat {
  return {
    welcome,
    call: (op, input, id, abandoned) => dispatch.call(session, op, input, id, abandoned),
    watch: (op, input, sink) => dispatch.watch(session, op, input, sink),
    received: (handed) => dispatch.received(session, handed),
    ended: session.ended,
    leave: () => dispatch.workspace.sessions.end(session),
  }
}
