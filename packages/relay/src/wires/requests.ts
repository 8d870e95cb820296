// Helpers of every HTTP route: the caller, the request's body, whether the answer has left, and the form of a refusal.

import { JsonDepthError, parseJson, type Refusal, refusals } from '@agent-relay/sdk/protocol'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { RefusalError } from '../core/refusal-error.ts'
import type { Principal } from './callers.ts'

export interface HttpEnv {
  Bindings: HttpBindings
  /** `left` resolves to true when the whole answer has been sent, to false if the caller left before. */
  Variables: { principal: Principal; left: Promise<boolean> }
}

export interface HttpAnswer {
  status: number
  body: object
}

export function refusalAnswer({ code, message, details }: Refusal): HttpAnswer {
  return { status: refusals[code].http, body: { error: { code, message, details } } }
}

export function refusalResponse(refusal: Refusal): Response {
  const { status, body } = refusalAnswer(refusal)
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (status === 503) headers['retry-after'] = '1'
  // The rest of a too large request is not read, so no other request may follow it on this connection.
  if (status === 413) headers.connection = 'close'
  return Response.json(body, { status, headers })
}

/** Resolves to whether the whole answer was sent. `finish`: all of it was given to the operating system. `close` without `finish`: the caller left before. */
export function whenResponseSent({ env: { outgoing } }: Context<HttpEnv>): Promise<boolean> {
  return new Promise((resolve) => {
    // The caller left before this code was loaded, so no event will follow.
    if (outgoing.destroyed) return resolve(outgoing.writableFinished)
    outgoing.once('finish', () => resolve(true))
    outgoing.once('close', () => resolve(outgoing.writableFinished))
  })
}

export function isJsonType(type: string | undefined): boolean {
  return type !== undefined && /^application\/json\s*(?:;|$)/i.test(type)
}

/** Reads the body as JSON, up to a limit. Hono's own limit is not used: the body that it hands on cannot be read here when it comes in chunks. */
export async function jsonBody(c: Pick<Context, 'req'>, operation: string, bytesMax: number): Promise<unknown> {
  const text = await textBody(c, bytesMax)
  if (text === '') return {}
  try {
    return parseJson(text)
  } catch (error) {
    const why = error instanceof JsonDepthError ? `the body is ${error.message}` : 'the body is not valid JSON'
    throw new RefusalError('input.invalid', { operation, why })
  }
}

async function textBody(c: Pick<Context, 'req'>, bytesMax: number): Promise<string> {
  const tooLarge = () => new RefusalError('frame.too-large', { bytesMax })
  if (Number(c.req.header('content-length') ?? 0) > bytesMax) throw tooLarge()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (c.req.raw.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes).toString('utf8')
}
