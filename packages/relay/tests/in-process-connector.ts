// A `Connector` for clients of the SDK that run in the process of the daemon under test. No tests.

import type { Hello } from '@agent-relay/sdk/protocol'
import { errorFrom } from '@agent-relay/sdk/wire'
import type { Dispatch } from '../src/broker/dispatch.ts'
import type { Door, SessionOrigin } from '../src/broker/sessions/standing.ts'
import { toRefusal } from '../src/core/refusal-error.ts'
import { InProcessLink } from '../src/wires/in-process.ts'

export function inProcessConnector(dispatch: Dispatch, origin: SessionOrigin | Door = 'owner') {
  return async (hello: Hello): Promise<InProcessLink> => {
    try {
      const { session, welcome } = await dispatch.openSession(origin, hello)
      return new InProcessLink(dispatch, session, welcome)
    } catch (error) {
      throw errorFrom(toRefusal(error))
    }
  }
}
