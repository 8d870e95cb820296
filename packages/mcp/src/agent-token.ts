// The token that a stateless call may bring among its arguments: a credential, taken out before any tool or action sees it.

import { RelayError } from '@agent-relay/sdk'
import type { Caller } from './exchange.ts'
import type { Tool } from './tools/tool.ts'

interface Shown {
  /** Whom the call acts as: the token's agent, or else the caller as it came. */
  caller: Caller
  body: unknown
  /** The token is not worth anything here: the call acts as nobody, and says this. */
  refused?: Error
}

const tokenPattern = /^at_[\w-]+$/

export function takeToken(caller: Caller, body: unknown, tools: readonly Tool[]): Shown {
  const token = tools.some(({ name }) => name === 'register_agent') ? tokenIn(body) : undefined
  if (token === undefined) return { caller, body }
  const rest = withoutToken(body as ToolsCall)
  try {
    return { caller: caller.as(token), body: rest }
  } catch {
    const message = 'The agent_token is not valid here, or its day is over. Call register_agent without it for another.'
    return { caller, body: rest, refused: new RelayError(message, { code: 'auth.required' }) }
  }
}

interface ToolsCall {
  method: 'tools/call'
  params: { arguments: Record<string, unknown> }
}

/** What does not look like a token of ours may be an action's own argument. */
function tokenIn(body: unknown): string | undefined {
  const { method, params } = (body ?? {}) as Partial<ToolsCall>
  const token = method === 'tools/call' ? params?.arguments?.agent_token : undefined
  return typeof token === 'string' && tokenPattern.test(token) ? token : undefined
}

function withoutToken(body: ToolsCall): ToolsCall {
  const { agent_token: _, ...rest } = body.params.arguments
  return { ...body, params: { ...body.params, arguments: rest } }
}
