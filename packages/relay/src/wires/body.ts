// A request's body as JSON, read up to a limit. By hand: what Hono's own limit hands on when a body comes in chunks cannot be read here.

import type { Context } from 'hono'
import { RefusalError } from '../refusal-error.ts'

type Request = Pick<Context, 'req'>

export async function jsonBody(c: Request, operation: string, bytesMax: number): Promise<unknown> {
  const text = await textBody(c, bytesMax)
  if (text === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new RefusalError('input.invalid', { operation, why: 'the body is not valid JSON' })
  }
}

async function textBody(c: Request, bytesMax: number): Promise<string> {
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
