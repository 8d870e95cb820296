// relay.actions: functions that a program offers to agents, with their schemas checked on both sides of the handler. And calling others'.

import type { WorkspaceClient } from './client.ts'
import { RelayError } from './errors.ts'
import type { OutputOf } from './protocol/operations.ts'
import type { ActionEnvelope, ActionErrorCode, ActionInfo, Caller, Invocation } from './protocol/words.ts'

/** What is needed of a zod schema. Any version of zod 4 fits, so the program's own copy does. */
export interface ActionSchema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { issues: readonly SchemaIssue[] } }
  toJSONSchema(options?: { io?: 'input' | 'output' }): Record<string, unknown>
}

interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

export interface ActionContext {
  /** Who calls, from the session's credential; never from arguments. */
  caller: Caller
  invocationId: string
}

export interface ActionDefinition<I, O> {
  /** `review.submit_vote`; agents see the tool `review_submit_vote`. */
  name: string
  description: string
  inputSchema: ActionSchema<I>
  outputSchema?: ActionSchema<O>
  /** The agents who may call it; all, if left out. */
  availableTo?: string[]
  timeoutMs?: number
  handler(input: I, context: ActionContext): O | Promise<O>
}

export interface Registration {
  name: string
  tool: string
  /** Offers it no longer. */
  withdraw(): Promise<void>
}

/** Thrown by a handler to choose the code and text its caller sees. Any other error is `handler_failed`, without its stack. */
export class ActionError extends RelayError {
  readonly actionCode: ActionErrorCode
  constructor(code: ActionErrorCode, message: string) {
    super(message)
    this.name = 'ActionError'
    this.actionCode = code
  }
}

type AnyDefinition = ActionDefinition<unknown, unknown>

export class Actions {
  readonly #client: WorkspaceClient
  readonly #offered = new Map<string, AnyDefinition>()
  #stopFollowing?: () => void

  constructor(client: WorkspaceClient) {
    this.#client = client
    // What was offered went with the session of before.
    client.on('ready', () => void this.#offerAgain())
  }

  /** Resolves when agents can call it. It is offered again after a lost connection, until `withdraw` or the program's end. */
  async register<I, O>(definition: ActionDefinition<I, O>): Promise<Registration> {
    const known = definition as unknown as AnyDefinition
    checkSchema('inputSchema', known.inputSchema)
    if (known.outputSchema !== undefined) checkSchema('outputSchema', known.outputSchema)
    await this.#client.connect()
    // Followed before it is offered: the first call must find somebody listening.
    this.#stopFollowing ??= this.#client.follow('action.follow', (invocation) => void this.#serve(invocation))
    const { name, tool } = await this.#offer(known)
    this.#offered.set(name, known)
    const withdraw = async () => {
      if (this.#offered.delete(name)) await this.#client.call('action.withdraw', { name })
      if (this.#offered.size > 0) return
      this.#stopFollowing?.()
      this.#stopFollowing = undefined
    }
    return { name, tool, withdraw }
  }

  async list(): Promise<ActionInfo[]> {
    return (await this.#client.call('action.list', {})).actions
  }

  /** Never rejects for what the action did: read `ok`. */
  invoke(
    name: string,
    input: unknown,
    options: { timeoutMs?: number; id?: string; signal?: AbortSignal } = {},
  ): Promise<ActionEnvelope> {
    const { timeoutMs, id, signal } = options
    return this.#client.call('action.invoke', { name, input, timeoutMs }, { id, signal })
  }

  /** The outcome of a call that was not waited for. */
  result(invocation: string): Promise<OutputOf<'action.result'>> {
    return this.#client.call('action.result', { invocation })
  }

  #offer({ name, description, inputSchema, outputSchema, availableTo, timeoutMs }: AnyDefinition) {
    return this.#client.call('action.register', {
      name,
      description,
      inputSchema: inputSchema.toJSONSchema({ io: 'input' }),
      outputSchema: outputSchema?.toJSONSchema({ io: 'output' }),
      availableTo,
      timeoutMs,
    })
  }

  async #offerAgain(): Promise<void> {
    for (const definition of this.#offered.values()) {
      await this.#offer(definition).catch((error: RelayError) => this.#client.emit('error', error))
    }
  }

  async #serve({ invocation, action, input, caller }: Invocation): Promise<void> {
    const definition = this.#offered.get(action)
    const answer = definition
      ? await outcomeOf(definition, input, { caller, invocationId: invocation })
      : { error: { code: 'provider_offline' as const, message: `${action} is not offered any more.` } }
    await this.#client.call('action.answer', { invocation, ...answer }).catch((error: RelayError) => {
      // Away: the daemon has ended the call already.
      if (error.code !== 'connection.lost') this.#client.emit('error', error)
    })
  }
}

/** A JSON Schema says what an input is, but cannot look at one; nor can a schema of zod 3 be shown to agents. */
function checkSchema(field: string, schema: unknown): void {
  const { safeParse, toJSONSchema } = (schema ?? {}) as Partial<ActionSchema<unknown>>
  if (typeof safeParse === 'function' && typeof toJSONSchema === 'function') return
  throw new TypeError(
    `${field} must be a schema of zod 4, such as z.object({ n: z.number() }). Of a JSON Schema make one with z.fromJSONSchema(schema).`,
  )
}

type Answer = { output: unknown } | { error: { code: ActionErrorCode; message: string } }

/** A stack trace never reaches a caller. */
async function outcomeOf(definition: AnyDefinition, given: unknown, context: ActionContext): Promise<Answer> {
  const input = definition.inputSchema.safeParse(given)
  if (!input.success) return { error: { code: 'invalid_input', message: describe(input.error.issues) } }
  let output: unknown
  try {
    output = await definition.handler(input.data, context)
  } catch (error) {
    const code = error instanceof ActionError ? error.actionCode : 'handler_failed'
    return { error: { code, message: error instanceof Error ? error.message : String(error) } }
  }
  const checked = definition.outputSchema?.safeParse(output)
  if (checked && !checked.success) return { error: { code: 'invalid_output', message: describe(checked.error.issues) } }
  return { output: checked ? checked.data : output }
}

function describe(issues: readonly SchemaIssue[]): string {
  const lines = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return lines.slice(0, 5).join('; ')
}
