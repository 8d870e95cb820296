// The daemon's own socket, on which its owner lists, opens and creates workspaces and stops the daemon. No messages or other data of a workspace pass through
// it.

import type { Hello, OutputOf, OwnerCallName, ParsedInputOf, Refusal } from '@agent-relay/sdk/protocol'
import type { CallAnswer, SessionService } from '../broker/call.ts'
import { parseInput } from '../broker/operation-input.ts'
import { newSecret } from '../broker/sessions/credentials.ts'
import type { ProcessProof } from '../broker/sessions/person.ts'
import { RefusalError } from '../core/refusal-error.ts'

export type OwnerControls = {
  [O in OwnerCallName]: (
    input: ParsedInputOf<O>,
    asker: ProcessProof,
    abandoned: AbortSignal,
  ) => Promise<OutputOf<O>> | OutputOf<O>
}

export class ControlSocket {
  readonly #controls: OwnerControls
  readonly #version: string

  constructor(controls: OwnerControls, version: string) {
    this.#controls = controls
    this.#version = version
  }

  async hello({ process }: Hello = {}): Promise<SessionService> {
    // Other sockets use the ticket to resume a session. Here the caller only shows with it which process it is.
    const ticket = newSecret('st')
    return {
      welcome: { session: ticket, workspace: '', workspaceId: '', version: this.#version, seq: 0 },
      call: (op, input, _, abandoned = new AbortController().signal) =>
        this.#call(op, input, { process, ticket }, abandoned),
      watch: (op) => {
        throw unknownOperation(op)
      },
      leave: () => {},
    }
  }

  async #call(op: string, input: unknown, asker: ProcessProof, abandoned: AbortSignal): Promise<CallAnswer> {
    if (!Object.hasOwn(this.#controls, op)) throw unknownOperation(op)
    return { output: await this.#answer(op as OwnerCallName, input, asker, abandoned) }
  }

  #answer<O extends OwnerCallName>(
    op: O,
    input: unknown,
    asker: ProcessProof,
    abandoned: AbortSignal,
  ): Promise<OutputOf<O>> | OutputOf<O> {
    return this.#controls[op](parseInput(op, input), asker, abandoned)
  }
}

function unknownOperation(operation: string): RefusalError & { refusal: Refusal } {
  return new RefusalError('operation.unknown', { operation })
}
