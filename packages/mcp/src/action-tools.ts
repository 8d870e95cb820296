// Actions as tools of their own: how one is listed for a model, and how a call of it is answered. Which are offered, the relay knows.

import type { WorkspaceClient } from '@agent-relay/sdk'
import { type ActionEnvelope, type ActionInfo, ActionName } from '@agent-relay/sdk/protocol'
import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { answerBytesMax, clip } from './text.ts'
import { type Tool, type ToolAnswer, tool } from './tools/tool.ts'

/** A provider's text stands in the context of every agent that may call it. */
const descriptionBytesMax = 1024
/** A larger schema would cost every agent its context; such an action is reached by actions_invoke. */
const schemaBytesMax = 16 * 1024
/** Programs register many actions at once. */
const settleMs = 50

export const envelopeShape = {
  action: z.string().optional(),
  invocationId: z.string().optional(),
  output: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
}

/** The envelope as it is, and as JSON for hosts that show text alone. */
export function envelopeAnswer(envelope: ActionEnvelope): ToolAnswer<ActionEnvelope> {
  const json = JSON.stringify(envelope)
  const { ok, action, invocationId } = envelope
  const short = { ok, action, invocationId, note: 'The output is too long for text: see the structured content.' }
  const text = json.length <= answerBytesMax ? json : JSON.stringify(short)
  return { text, structured: envelope, isError: !ok }
}

/** In the order of their names. What a host could not take as a tool is left out, or it would lose the whole list. */
export async function listActions(client: WorkspaceClient): Promise<ListedTool[]> {
  const { actions } = await client.call('action.list', {})
  return actions.flatMap((action) => listedAction(action) ?? [])
}

const lists = new WeakMap<object, ListedTool | 'left out'>()

/** Made once for each registration, where the relay is in this process and answers the same schema for the same one. */
function listedAction(action: ActionInfo): ListedTool | undefined {
  const list = lists.get(action.inputSchema) ?? listOf(action) ?? 'left out'
  lists.set(action.inputSchema, list)
  return list === 'left out' ? undefined : list
}

function listOf({ name, tool, description, inputSchema, outputSchema }: ActionInfo): ListedTool | undefined {
  const input = plain(inputSchema)
  if (!isObjectSchema(input) || sizeOf(input) > schemaBytesMax) return undefined
  return {
    name: tool,
    title: name,
    description: clip(description, descriptionBytesMax),
    inputSchema: input as ListedTool['inputSchema'],
    outputSchema: envelopeSchema(outputSchema),
    // The relay cannot know what it does.
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  }
}

function envelopeSchema(outputSchema: Record<string, unknown> | undefined): ListedTool['outputSchema'] {
  const output = outputSchema === undefined ? undefined : plain(outputSchema)
  // A reference means a place in a document of its own, which it is not any more.
  const isEmbeddable = output !== undefined && sizeOf(output) <= schemaBytesMax && !/"\$(?:ref|id)":/.test(json(output))
  return {
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      action: { type: 'string' },
      invocationId: { type: 'string' },
      output: isEmbeddable ? output : {},
      error: { type: 'object' },
    },
    // A call that the relay itself refuses has no invocation.
    required: ['ok'],
  } as ListedTool['outputSchema']
}

/** Without what speaks to the host and not of the input: the dialect, and wishes about HTTP headers. */
function plain(schema: Record<string, unknown>): Record<string, unknown> {
  const { $schema: _, ...rest } = schema
  if (!json(rest).includes('x-mcp-header')) return rest
  return JSON.parse(json(rest), (key, value) => (key === 'x-mcp-header' ? undefined : value))
}

function isObjectSchema({ type, properties = {}, required = [] }: Record<string, unknown>): boolean {
  const isRecord = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const areSchemas = isRecord(properties) && Object.values(properties as object).every(isRecord)
  const areNames = Array.isArray(required) && required.every((name) => typeof name === 'string')
  return type === 'object' && areSchemas && areNames
}

function json(schema: object): string {
  return JSON.stringify(schema)
}

function sizeOf(schema: object): number {
  return json(schema).length
}

const anything = z.unknown()

/** A call by that name. Whether there is such an action, and whether the caller may, is the relay's to say. */
export function actionCall(name: string): Tool | undefined {
  if (!ActionName.safeParse(name).success) return undefined
  return tool({
    name,
    title: name,
    description: '',
    input: anything,
    output: anything,
    hasEnvelope: true,
    hints: {},
    run: async (client, input) => {
      const envelope = await client.call('action.invoke', { name, input: input ?? {} })
      const answer = envelopeAnswer(envelope)
      const isUnknown = !envelope.ok && envelope.error.code === 'unknown_action'
      return isUnknown ? { ...answer, text: `Error: Unknown tool: ${name}` } : answer
    },
  })
}

/** Whether these tools come with those of the actions. */
export function servesActions(tools: readonly Tool[]): boolean {
  return tools.some(({ name }) => name === 'actions_invoke')
}

/** Tells that the list has changed, once for all that changes within a moment. */
export class ActionWatch {
  readonly #client: WorkspaceClient
  readonly #changed: () => void
  #watch: { stop(): void } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: WorkspaceClient, changed: () => void) {
    this.#client = client
    this.#changed = changed
  }

  start(): void {
    this.#watch ??= this.#client.watch({ types: ['action.registered', 'action.withdrawn'] }, () => this.changed())
  }

  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#changed()
    }, settleMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#watch?.stop()
    this.#watch = undefined
  }
}
