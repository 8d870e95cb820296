// Toolset `actions`: three tools that reach every action (a typed function that a program offers), and each action as a tool of its own. The toolsets
// `relay` and `workspace` show the actions that agents may see without requesting that toolset, if there are few.

import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import type { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import {
  type ActionEnvelope,
  type ActionInfo,
  ActionName,
  daemonName,
  isWithinBytes,
  limits,
} from '@agent-relay/sdk/protocol'
import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { cleanValueForModel, clipText, itemsThatFit } from '../text.ts'
import { defineEnvelopeTool, defineTool, type Tool, type ToolAnswer, toolListing } from './tool.ts'

/** Maximum length in bytes of an action's description, which is in the context of every agent that may call the action. */
const descriptionBytesMax = 1024
/** Maximum length in characters of an action's description, in sessions that did not request the toolset `actions`. */
const unaskedCharsMax = 300
/**
 * Maximum number of actions, and their size in the list in bytes, in sessions that did not request the toolset `actions`. If there are more, the
 * list has the generic tools instead.
 */
const [unaskedMax, unaskedBytesMax] = [16, 6_000]
/** Maximum number of the daemon's own actions, which are listed besides those of programs. */
const daemonActionsMax = 8
/**
 * Maximum length in characters of an action's schema in the list. A larger one would fill the context of every agent; such an action is called by
 * actions_invoke.
 */
const schemaCharsMax = 16 * 1024
/** Maximum length in characters of an action's result as JSON. Of a longer one, only a preview is shown. */
const envelopeCharsMax = 32 * 1024
/** Maximum length in bytes of the preview of an output that is too long to show. */
const previewBytesMax = 4 * 1024

/** The result of an action's call, in the form that a model is shown. Programs get the result from the daemon itself. */
function envelopeAnswer(envelope: ActionEnvelope): ToolAnswer {
  return { json: fitEnvelope(cleanValueForModel(envelope)), isError: !envelope.ok }
}

function fitEnvelope(envelope: ActionEnvelope): object {
  const json = JSON.stringify(envelope)
  if (json.length <= envelopeCharsMax || !envelope.ok) return envelope
  const { ok, action, invocationId, output } = envelope
  const note = `The output has ${json.length} characters, which is too long to show. Ask the action for less, or for a file.`
  return { ok, action, invocationId, note, preview: clipText(JSON.stringify(output), previewBytesMax) }
}

const actionsListTool = defineEnvelopeTool({
  name: 'actions_list',
  title: 'List actions',
  description: 'The actions you may call, with their input schemas.',
  input: z.object({ names: z.array(z.string()).optional().describe('Only these') }),
  hints: { readOnly: true, idempotent: true },
  worksWithoutAgent: true,
  run: async (client, { names }) => {
    const { actions: all } = await client.call('action.list', {})
    const asked =
      names === undefined ? all : all.filter(({ name, tool }) => names.includes(name) || names.includes(tool))
    const actions = itemsThatFit(asked.map(withoutLongSchemas))
    const more = asked.slice(actions.length).map(({ name }) => name)
    if (more.length === 0) return { actions }
    const note = `${more.length} more did not fit. Call actions_list with their names.`
    return { actions, more: itemsThatFit(more, previewBytesMax), note }
  },
})

function withoutLongSchemas({ inputSchema, outputSchema, ...rest }: ActionInfo): Partial<ActionInfo> {
  const short = (schema: Record<string, unknown> | undefined) =>
    schema === undefined || sizeOf(schema) > schemaCharsMax ? undefined : schema
  return { ...rest, inputSchema: short(inputSchema), outputSchema: short(outputSchema) }
}

const actionsInvokeTool = defineTool({
  name: 'actions_invoke',
  title: 'Call an action',
  description: 'Call an action by name and wait for its result.',
  input: z.object({
    name: z.string().min(1).describe('e.g. review.submit_vote'),
    input: z.record(z.string(), z.unknown()).optional(),
    timeout_ms: z.number().int().min(1).max(limits.waitMsMax).optional(),
  }),
  hasEnvelope: true,
  hints: { openWorld: true },
  run: async (client, { name, input = {}, timeout_ms: timeoutMs }) =>
    envelopeAnswer(await client.call('action.invoke', { name, input, timeoutMs })),
})

const actionsResultTool = defineTool({
  name: 'actions_result',
  title: 'Result of an action',
  description: 'The result of an earlier call of yours, or that it is running.',
  input: z.object({ invocation: z.string().min(1).describe('invocationId') }),
  hasEnvelope: true,
  hints: { readOnly: true, idempotent: true },
  run: async (client, { invocation }) => {
    const { running, result } = await client.call('action.result', { invocation })
    if (result) return envelopeAnswer(result)
    return { json: { ok: true, running, invocationId: invocation } }
  },
})

/** The generic tools. They reach every action, also one that is offered later: some hosts ignore changes of the list of tools. */
export const actionTools: readonly Tool[] = [actionsListTool, actionsInvokeTool, actionsResultTool]
/** The generic tools that the toolset `relay` lists if there are more actions than it shows. */
const genericTools: readonly Tool[] = [actionsListTool, actionsInvokeTool]

/**
 * Which actions a session shows as tools. `all`: every action, since the session requested the toolset `actions`. `workspace`: those that agents may
 * see without requesting it, and the daemon's own. `relay`: only those that agents may see without requesting it.
 */
export type ActionScope = 'all' | 'workspace' | 'relay'

export function actionScopeOf(tools: readonly Tool[]): ActionScope | undefined {
  const has = (name: string) => tools.some((tool) => tool.name === name)
  if (tools.some(({ showsActions }) => showsActions)) return 'all'
  if (has('register_agent')) return 'workspace'
  return has('relay_send') ? 'relay' : undefined
}

/** Lists actions as tools. Leaves out an action that a host could not take as a tool, since the host would drop the whole list. */
export async function listActions(client: WorkspaceClient, scope: ActionScope): Promise<ListedTool[]> {
  if (scope === 'all')
    return (await client.call('action.list', {})).actions.flatMap((action) => cachedListing(action) ?? [])
  const limit = unaskedMax + daemonActionsMax + 1
  const { actions } = await client.call('action.list', { unasked: true, limit })
  const isOwn = ({ provider }: ActionInfo) => provider === daemonName
  const own = scope === 'relay' ? [] : actions.filter(isOwn).flatMap((action) => cachedListing(action) ?? [])
  const others = actions.filter((action) => !isOwn(action))
  const shown = others.flatMap((action) => cachedListing(action) ?? []).map(shortened)
  const isFew = others.length <= unaskedMax && isWithinBytes(json(shown), unaskedBytesMax)
  // No generic tools are added for the toolset `workspace`, which contains them anyway.
  const generic = scope === 'relay' && !(isFew && shown.length === others.length) ? genericTools.map(toolListing) : []
  return [...own, ...generic, ...(isFew ? shown : [])]
}

function shortened(tool: ListedTool): ListedTool {
  const chars = [...(tool.description ?? '')]
  if (chars.length <= unaskedCharsMax) return tool
  return { ...tool, description: `${chars.slice(0, unaskedCharsMax - 1).join('')}…` }
}

const lists = new WeakMap<object, ListedTool | 'left out'>()

/** The tool of an action, cached by its schema object: a relay in this process returns the same object each time. */
function cachedListing(action: ActionInfo): ListedTool | undefined {
  const list = lists.get(action.inputSchema) ?? actionListing(action) ?? 'left out'
  lists.set(action.inputSchema, list)
  return list === 'left out' ? undefined : list
}

function actionListing({ name, tool, description, inputSchema }: ActionInfo): ListedTool | undefined {
  const input = withoutHostFields(inputSchema)
  if (!isObjectSchema(input) || sizeOf(input) > schemaCharsMax) return undefined
  return {
    name: tool,
    title: name,
    description: clipText(cleanForModel(description), descriptionBytesMax),
    inputSchema: cleanValueForModel(input) as ListedTool['inputSchema'],
    // The relay cannot know the effects of an action, so the hints say the worst.
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  }
}

/** Removes fields that are for the host: the schema's dialect, and requests for HTTP headers. */
function withoutHostFields(schema: Record<string, unknown>): Record<string, unknown> {
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

/** The tool that calls the action of this name. The relay decides whether it exists and whether the caller may call it. */
export function toolForAction(name: string, scope: ActionScope): Tool | undefined {
  const generic = genericTools.find((each) => each.name === name)
  if (generic) return generic
  if (!ActionName.safeParse(name).success) return undefined
  return defineTool({
    name,
    title: name,
    description: '',
    input: anything,
    hasEnvelope: true,
    hints: {},
    run: async (client, input) => {
      const envelope = await client.call('action.invoke', { name, input: input ?? {} })
      // An agent with the toolset `relay` may not know of actions, so the error speaks of a tool.
      const isUnknown = scope === 'relay' && !envelope.ok && envelope.error.code === 'unknown_action'
      return isUnknown ? { text: `Error: ${unknownToolText(name)}`, isError: true } : envelopeAnswer(envelope)
    },
  })
}

export function unknownToolText(name: string): string {
  return `Unknown tool: ${name}`
}

/** Calls `tell` when the actions that the session shows have changed. For a change of other actions, the host need not load its list again. */
export function shownActionsNotifier(client: WorkspaceClient, scope: ActionScope, tell: () => void): () => void {
  if (scope === 'all') return tell
  const look = () => listActions(client, scope).then(json, () => undefined)
  let shown = look()
  return () => {
    const before = shown
    shown = look()
    void Promise.all([before, shown]).then(([former, now]) => {
      if (now !== undefined && now !== former) tell()
    })
  }
}
