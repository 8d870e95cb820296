// The daemon's own socket, for its owner: lists, opens and makes workspaces, and stops the daemon. No workspace's data passes here.

import type { Hello, OutputOf, OwnerCallName, ParsedInputOf, Refusal } from '@agent-relay/sdk/protocol'
import type { Answer, Service } from '../broker/call.ts'
import { parse } from '../broker/operation-input.ts'
import { newSecret } from '../broker/sessions/credentials.ts'
import type { ProcessClaim } from '../broker/sessions/person.ts'
import { RefusalError } from '../core/refusal-error.ts'

export type Controls = {
  [O in OwnerCallName]: (input: ParsedInputOf<O>, asker: ProcessClaim) => Promise<OutputOf<O>> | OutputOf<O>
}

export class ControlSocket {
  readonly #controls: Controls
  readonly #version: string

  constructor(controls: Controls, version: string) {
    this.#controls = controls
    this.#version = version
  }

  async hello({ process }: Hello = {}): Promise<Service> {
    // The ticket continues no session: the asker proves its process with it.
    const ticket = newSecret('st')
    return {
      welcome: { session: ticket, workspace: '', workspaceId: '', version: this.#version, seq: 0 },
      call: (op, input) => this.#call(op, input, { process, ticket }),
      watch: (op) => {
        throw unknown(op)
      },
      leave: () => {},
    }
  }

  async #call(op: string, input: unknown, asker: ProcessClaim): Promise<Answer> {
    if (!Object.hasOwn(this.#controls, op)) throw unknown(op)
    return { output: await this.#answer(op as OwnerCallName, input, asker) }
  }

  #answer<O extends OwnerCallName>(op: O, input: unknown, asker: ProcessClaim): Promise<OutputOf<O>> | OutputOf<O> {
    return this.#controls[op](parse(op, input), asker)
  }
}

function unknown(operation: string): RefusalError & { refusal: Refusal } {
  return new RefusalError('operation.unknown', { operation })
}
