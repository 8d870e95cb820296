// What a tool is: a name, an input schema, hints and what it does. And how a table of them becomes the answer to tools/list. Tools have no
// output schemas and no structured content: with those, Claude Code and Codex hide the text from their models, and others show both.

import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'

/** The four hints that hosts use to decide whether to ask the user; all four, since two of them default to "dangerous". */
export interface Hints {
  readOnly?: boolean
  destructive?: boolean
  idempotent?: boolean
  /** It reaches things outside the relay. */
  openWorld?: boolean
}

/** A text, which may say that something failed. `note` stands behind it, in a content block of its own. */
export interface TextAnswer {
  text: string
  note?: string
  isError?: boolean
}

/** What a model is shown: a text, or a value as JSON. */
export type ToolAnswer =
  | string
  | TextAnswer
  /** `note` stands behind the JSON, in a content block of its own. */
  | { json: unknown; note?: string; isError?: boolean }

export interface Tool<I = unknown> {
  name: string
  title: string
  description: string
  input: z.ZodType<I>
  hints: Hints
  /** Results say `ok`, and so do errors: `{ok: false, error: {code, message}}`. */
  hasEnvelope?: boolean
  /** It answers a session that acts as no agent, too. */
  isForAnyone?: boolean
  /** It answers with the waiting messages: no hint about them is needed. */
  showsInbox?: boolean
  /** The model sees it from the start, also in a host that shows tools only after a search. */
  isPinned?: boolean
  /** Every action is shown as a tool beside it. */
  showsActions?: boolean
  /** The role of the lift that the input says it acts as, if it says one; `run` is given that role's client. */
  role?(input: I): string | undefined
  /** Which inputs are roles of the lift. */
  roleInputs?: readonly string[]
  run(client: ToolClient, input: I): Promise<ToolAnswer>
}

/** A tool whose handler keeps its own types, in a table where they no longer matter. */
export function tool<I>(definition: Tool<I>): Tool {
  return definition as unknown as Tool
}

interface EnvelopeDefinition<I> extends Omit<Tool<I>, 'hasEnvelope' | 'role' | 'isPinned' | 'run'> {
  /** What a success holds besides `ok`. */
  run(client: ToolClient, input: I): Promise<object>
}

/** A tool whose every answer says `ok`. */
export function envelopeTool<I>({ run, ...rest }: EnvelopeDefinition<I>): Tool {
  return tool({
    ...rest,
    hasEnvelope: true,
    run: async (client, input: I) => ({ json: { ok: true, ...(await run(client, input)) } }),
  })
}

const lists = new WeakMap<Tool, ListedTool>()

/** Made once for each tool: deriving the schemas takes half a millisecond, and every session asks. */
export function listed(tool: Tool): ListedTool {
  const list = lists.get(tool) ?? listOf(tool)
  lists.set(tool, list)
  return list
}

const tokenProperty = { type: 'string', description: 'From register_agent' }

/** Where every call must say who it is: the argument for that. An action's own argument of that name stays. */
export function withToken(tool: ListedTool): ListedTool {
  const { inputSchema } = tool
  const properties = { agent_token: tokenProperty, ...inputSchema.properties }
  return { ...tool, inputSchema: { ...inputSchema, properties } as ListedTool['inputSchema'] }
}

/** On a lift: which roles there are, in the schema itself. */
export function withRoles(tool: Tool, roles: readonly string[] = []): ListedTool {
  const list = listed(tool)
  const { roleInputs = [] } = tool
  if (roles.length === 0 || roleInputs.length === 0) return list
  const properties = { ...list.inputSchema.properties }
  for (const name of roleInputs) properties[name] = { ...(properties[name] as object), enum: [...roles] }
  return { ...list, inputSchema: { ...list.inputSchema, properties } }
}

function listOf({ name, title, description, input, hints, isPinned }: Tool): ListedTool {
  const { readOnly = false, destructive = false, idempotent = false, openWorld = false } = hints
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input),
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
    ...(isPinned ? { _meta: { 'anthropic/alwaysLoad': true } } : {}),
  }
}

/** Every byte of it is in the context of every agent: what adds nothing is left out. */
function schemaOf(schema: z.ZodType): ListedTool['inputSchema'] {
  return withoutNoise(z.toJSONSchema(schema, { io: 'input' })) as ListedTool['inputSchema']
}

function withoutNoise(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNoise)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([key, each]) =>
      key !== '$schema' && !(key === 'additionalProperties' && each === false) && !isSafeBound(key, each),
  )
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutNoise(each)]))
}

/** zod writes the range of safe integers out. */
function isSafeBound(key: string, value: unknown): boolean {
  return (key === 'maximum' || key === 'minimum') && Math.abs(value as number) === Number.MAX_SAFE_INTEGER
}
