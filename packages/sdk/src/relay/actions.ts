// `relay.actions`: functions that a program offers to agents, with input and output checked against their schemas, and calls of other programs' actions.

import type { WorkspaceClient } from '../client/client.ts'
import { RelayError } from '../errors.ts'
import { issuesText, type SchemaIssue } from '../protocol/json.ts'
import { actionErrorCodePattern } from '../protocol/limits.ts'
import type { ActionEnvelope, ActionErrorCode, ActionInfo, Caller, Invocation } from '../protocol/words.ts'

/** The part of a zod schema that this file uses. Every version of zod 4 has it, so a program can bring its own copy of zod. */
export interface ActionSchema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { issues: readonly SchemaIssue[] } }
  toJSONSchema(options?: { io?: 'input' | 'output' }): Record<string, unknown>
}

export interface ActionContext {
  /** The agent or person that calls the action. The daemon knows the caller from the session's credential; the call's input cannot change it. */
  caller: Caller
  invocationId: string
}

export interface ActionDefinition<I, O> {
  /** A name such as `review.submit_vote`. Agents see the action as the tool `review_submit_vote`. */
  name: string
  description: string
  inputSchema: ActionSchema<I>
  outputSchema?: ActionSchema<O>
  /** The agents that may call the action. Unset: all agents. */
  availableTo?: string[]
  timeoutMs?: number
  handler(input: I, context: ActionContext): O | Promise<O>
}

export interface Registration {
  name: string
  tool: string
  /** Stops offering the action. */
  withdraw(): Promise<void>
}

/** Thrown by an action's handler to choose the error code and text that the caller sees. Any other error becomes `handler_failed`, without its stack. */
export class ActionError extends RelayError {
  declare readonly code: ActionErrorCode

  /** `code`: one of the relay's own codes, or one of the program's own, such as `quota_exceeded`. */
  constructor(code: ActionErrorCode, message: string) {
    if (!actionErrorCodePattern.test(code))
      throw new TypeError(`"${code}" is not an error code: up to 64 small letters, digits and "_", a letter first.`)
    super(message, { code })
    this.name = 'ActionError'
  }
}

type AnyDefinition = ActionDefinition<unknown, unknown>

export class Actions {
  readonly #client: WorkspaceClient
  readonly #offered = new Map<string, AnyDefinition>()
  #stopFollowing?: () => void

  constructor(client: WorkspaceClient) {
    this.#client = client
    // The daemon drops a session's actions when the session ends, so each new session has to offer them again.
    client.on('ready', () => void this.#offerAgain())
  }

  /**
   * Offers an action; resolves when agents can call it. After a lost connection the client offers the action again, until `withdraw` is called or the program
   * ends.
   */
  async register<I, O>(definition: ActionDefinition<I, O>): Promise<Registration> {
    const known = definition as unknown as AnyDefinition
    checkSchema('inputSchema', known.inputSchema)
    if (known.outputSchema !== undefined) checkSchema('outputSchema', known.outputSchema)
    await this.#client.connect()
    // The watch for calls is set up first, because the action may be called as soon as it is offered.
    this.#stopFollowing ??= this.#client.follow('action.follow', (invocation) => void this.#serve(invocation))
    const former = this.#offered.get(definition.name)
    // The definition is stored before the action is offered, because a first call may arrive together with the daemon's answer.
    this.#offered.set(definition.name, known)
    const { name, tool } = await this.#offer(known).catch((error) => {
      if (former) this.#offered.set(definition.name, former)
      else this.#drop(definition.name)
      throw error
    })
    const withdraw = async () => {
      if (this.#drop(name)) await this.#client.call('action.withdraw', { name })
    }
    return { name, tool, withdraw }
  }

  /** Removes an action from the list of offered ones. Ends the watch for calls with the last action. */
  #drop(name: string): boolean {
    const was = this.#offered.delete(name)
    if (this.#offered.size > 0) return was
    this.#stopFollowing?.()
    this.#stopFollowing = undefined
    return was
  }

  async list(): Promise<ActionInfo[]> {
    return (await this.#client.call('action.list', {})).actions
  }

  /** Calls an action. Resolves even if the action fails: check `ok`, then read `output` or `error`. */
  invoke(
    name: string,
    input: unknown,
    options: { timeoutMs?: number; id?: string; signal?: AbortSignal } = {},
  ): Promise<ActionEnvelope> {
    const { timeoutMs, id, signal } = options
    return this.#client.call('action.invoke', { name, input, timeoutMs }, { id, signal })
  }

  /** Returns the outcome of an earlier call of an action. */
  result(invocation: string): Promise<{ running: boolean; result?: ActionEnvelope }> {
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
      // If the connection was lost, the daemon has ended the call already, so nobody waits for this answer.
      if (error.code !== 'connection.lost') this.#client.emit('error', error)
    })
  }
}

/**
 * Throws unless the schema is one of zod 4: a JSON Schema cannot check an input by itself, and a schema of zod 3 cannot be turned into a JSON Schema for
 * agents.
 */
function checkSchema(field: string, schema: unknown): void {
  const { safeParse, toJSONSchema } = (schema ?? {}) as Partial<ActionSchema<unknown>>
  if (typeof safeParse === 'function' && typeof toJSONSchema === 'function') return
  throw new TypeError(
    `${field} must be a schema of zod 4, such as z.object({ n: z.number() }). Of a JSON Schema make one with z.fromJSONSchema(schema).`,
  )
}

type Answer = { output: unknown } | { error: { code: ActionErrorCode; message: string } }

/** Runs an action's handler, and checks its input and output. The caller never gets a stack trace. */
async function outcomeOf(definition: AnyDefinition, given: unknown, context: ActionContext): Promise<Answer> {
  const input = definition.inputSchema.safeParse(given)
  if (!input.success) return { error: { code: 'invalid_input', message: issuesText(input.error.issues) } }
  let output: unknown
  try {
    output = await definition.handler(input.data, context)
  } catch (error) {
    const code = error instanceof ActionError ? error.code : 'handler_failed'
    return { error: { code, message: error instanceof Error ? error.message : String(error) } }
  }
  const checked = definition.outputSchema?.safeParse(output)
  if (checked && !checked.success)
    return { error: { code: 'invalid_output', message: issuesText(checked.error.issues) } }
  return { output: checked ? checked.data : output }
}
