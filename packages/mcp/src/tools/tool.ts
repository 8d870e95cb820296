// What a tool is: a name, schemas, hints and what it does. And how a table of them becomes the answer to tools/list.

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

export interface ToolAnswer<O> {
  text: string
  structured: O
  isError?: boolean
}

export interface Tool<I = unknown, O = unknown> {
  name: string
  title: string
  description: string
  input: z.ZodType<I>
  output: z.ZodType<O>
  hints: Hints
  /** Results say `ok`, and so do errors: `{ok: false, error: {code, message}}`. */
  hasEnvelope?: boolean
  /** It answers a session that acts as no agent, too. */
  isForAnyone?: boolean
  /** What waits is its very answer: no line is needed that says so. */
  showsInbox?: boolean
  /** Before the model from the start, also in a host that shows tools only when they are searched for. */
  isPinned?: boolean
  /** Its text is JSON, which a line of ours would spoil. */
  isJson?: boolean
  /** The role of the lift that the input says it acts as; `run` is given that role's client. */
  role?(input: I): string
  run(client: ToolClient, input: I): Promise<ToolAnswer<O>>
}

/** A tool whose handler keeps its own types, in a table where they no longer matter. */
export function tool<I, O>(definition: Tool<I, O>): Tool {
  return definition as unknown as Tool
}

const lists = new WeakMap<Tool, ListedTool>()

/** Made once for each tool: deriving the schemas takes half a millisecond, and every session asks. */
export function listed(tool: Tool): ListedTool {
  const list = lists.get(tool) ?? listOf(tool)
  lists.set(tool, list)
  return list
}

const tokenProperty = { type: 'string', description: 'From register_agent' }

/** For callers that every call must introduce: the argument by which it shows who it is. An action's own of that name stays. */
export function withToken(tool: ListedTool): ListedTool {
  const { inputSchema } = tool
  const properties = { agent_token: tokenProperty, ...inputSchema.properties }
  return { ...tool, inputSchema: { ...inputSchema, properties } as ListedTool['inputSchema'] }
}

function listOf({ name, title, description, input, output, hints, isPinned }: Tool): ListedTool {
  const { readOnly = false, destructive = false, idempotent = false, openWorld = false } = hints
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: schemaOf(output, 'output'),
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
    ...(isPinned ? { _meta: { 'anthropic/alwaysLoad': true } } : {}),
  }
}

/** Every byte of it stands in the context of every agent: what says nothing is left out. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): ListedTool['inputSchema'] {
  return withoutNoise(z.toJSONSchema(schema, { io })) as ListedTool['inputSchema']
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
