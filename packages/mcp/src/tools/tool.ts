// The definition of a tool: name, input schema, hints and function; and how a table of tools becomes the answer to tools/list. Tools have no
// output schemas and no structured content: with those, Claude Code and Codex hide the text from their models, and others show both.

import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'

/** The four hints that hosts use to decide whether to ask the user; all four, since two of them default to "dangerous". */
export interface ToolHints {
  readOnly?: boolean
  destructive?: boolean
  idempotent?: boolean
  /** Whether the tool reaches things outside the relay. */
  openWorld?: boolean
}

/** A text for the model, which may report a failure. `note` follows it in a content block of its own. */
export interface TextAnswer {
  text: string
  note?: string
  isError?: boolean
}

/** The answer for a model: a text, or a value as JSON. */
export type ToolAnswer =
  | string
  | TextAnswer
  /** `note` follows the JSON in a content block of its own. */
  | { json: unknown; note?: string; isError?: boolean }

export interface Tool<I = unknown> {
  name: string
  title: string
  description: string
  input: z.ZodType<I>
  hints: ToolHints
  /** Whether every result has the field `ok`, and an error has the form `{ok: false, error: {code, message}}`. */
  hasEnvelope?: boolean
  /** Whether the tool also answers a session that acts as no agent. */
  worksWithoutAgent?: boolean
  /** The answer holds the waiting messages, so it needs no hint about them. */
  showsInbox?: boolean
  /** The model sees the tool from the start, also in a host that shows tools only after a search. */
  isPinned?: boolean
  /** Set for the tools of the toolset `actions`: a session with such a tool lists every action as a tool. */
  showsActions?: boolean
  /** The role of the lift that the input names, if any; `run` is given that role's client. */
  role?(input: I): string | undefined
  /** Names of the input's fields whose values are roles of the lift. */
  roleInputs?: readonly string[]
  run(client: ToolClient, input: I): Promise<ToolAnswer>
}

/** Erases the type of a tool's input, which the table of tools does not need. */
export function defineTool<I>(definition: Tool<I>): Tool {
  return definition as unknown as Tool
}

interface EnvelopeDefinition<I> extends Omit<Tool<I>, 'hasEnvelope' | 'role' | 'isPinned' | 'run'> {
  /** Returns the fields of a success besides `ok`. */
  run(client: ToolClient, input: I): Promise<object>
}

/** A tool with an envelope: every answer has `ok`. */
export function defineEnvelopeTool<I>({ run, ...rest }: EnvelopeDefinition<I>): Tool {
  return defineTool({
    ...rest,
    hasEnvelope: true,
    run: async (client, input: I) => ({ json: { ok: true, ...(await run(client, input)) } }),
  })
}

const lists = new WeakMap<Tool, ListedTool>()

/** The tool as tools/list shows it. Made once for each tool: deriving the schemas takes half a millisecond, and every session asks. */
export function toolListing(tool: Tool): ListedTool {
  const list = lists.get(tool) ?? makeListing(tool)
  lists.set(tool, list)
  return list
}

const tokenProperty = { type: 'string', description: 'From register_agent' }

/**
 * Adds an argument for the agent's token to a listed tool, for sessions in which every call must carry one. An action's own argument `agent_token`
 * stays.
 */
export function withTokenArgument(tool: ListedTool): ListedTool {
  const { inputSchema } = tool
  const properties = { agent_token: tokenProperty, ...inputSchema.properties }
  return { ...tool, inputSchema: { ...inputSchema, properties } as ListedTool['inputSchema'] }
}

/** The tool with the roles of a lift in its schema. */
export function withRoleNames(tool: Tool, roles: readonly string[] = []): ListedTool {
  const list = toolListing(tool)
  const { roleInputs = [] } = tool
  if (roles.length === 0 || roleInputs.length === 0) return list
  const properties = { ...list.inputSchema.properties }
  for (const name of roleInputs) properties[name] = { ...(properties[name] as object), enum: [...roles] }
  return { ...list, inputSchema: { ...list.inputSchema, properties } }
}

function makeListing({ name, title, description, input, hints, isPinned }: Tool): ListedTool {
  const { readOnly = false, destructive = false, idempotent = false, openWorld = false } = hints
  return {
    name,
    title,
    description,
    inputSchema: inputSchemaFor(input),
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
    ...(isPinned ? { _meta: { 'anthropic/alwaysLoad': true } } : {}),
  }
}

/** The input schema without redundant parts, since each of its bytes is in the context of every agent. */
function inputSchemaFor(schema: z.ZodType): ListedTool['inputSchema'] {
  return withoutRedundantParts(z.toJSONSchema(schema, { io: 'input' })) as ListedTool['inputSchema']
}

function withoutRedundantParts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRedundantParts)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([key, each]) =>
      key !== '$schema' && !(key === 'additionalProperties' && each === false) && !isSafeBound(key, each),
  )
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutRedundantParts(each)]))
}

/** Whether this part of a schema is a bound of JavaScript's safe integers, which zod adds to every integer. */
function isSafeBound(key: string, value: unknown): boolean {
  return (key === 'maximum' || key === 'minimum') && Math.abs(value as number) === Number.MAX_SAFE_INTEGER
}
