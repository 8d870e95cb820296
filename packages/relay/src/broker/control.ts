// The daemon's own socket, for its owner: which workspaces are open, opening and making them, stopping. No workspace's data passes here.

import type { OperationName, OutputOf, operations, ParsedInputOf, Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../refusal-error.ts'
import type { Answer } from './call.ts'
import { parse } from './dispatch.ts'
import type { Watch } from './sink.ts'

type ControlName = { [O in OperationName]: (typeof operations)[O]['who'] extends 'owner' ? O : never }[OperationName]
export type Controls = { [O in ControlName]: (input: ParsedInputOf<O>) => Promise<OutputOf<O>> | OutputOf<O> }

export class Control {
  readonly #controls: Controls
  readonly #version: string

  constructor(controls: Controls, version: string) {
    this.#controls = controls
    this.#version = version
  }

  async hello() {
    return {
      welcome: { session: 'control', workspace: '', workspaceId: '', version: this.#version, seq: 0 },
      call: (op: string, input: unknown) => this.#call(op, input),
      watch: (op: string): Watch => {
        throw unknown(op)
      },
      leave: () => {},
    }
  }

  async #call(op: string, input: unknown): Promise<Answer> {
    if (!Object.hasOwn(this.#controls, op)) throw unknown(op)
    const control = this.#controls[op as ControlName] as (input: unknown) => Promise<unknown>
    return { output: await control(parse(op as ControlName, input)) }
  }
}

function unknown(operation: string): RefusalError & { refusal: Refusal } {
  return new RefusalError('operation.unknown', { operation })
}
