// `/api/agents`: runs over plain HTTP, in the words of the agent_* tools. Each route is one operation of the table, asked as by `/api/<operation>`.

import { agentStatusOf, limits, type Run, refusal } from '@agent-relay/sdk/protocol'
import type { Context, Hono } from 'hono'
import { RefusalError } from '../refusal-error.ts'
import { type ApiAnswer, failed } from './api.ts'
import { jsonBody } from './body.ts'
import type { HttpEnv } from './http-env.ts'

/** Asks one operation as whoever made the request. */
export type AskApi = (c: Context<HttpEnv>, operation: string, input: unknown) => Promise<ApiAnswer>

export function mountAgents(app: Hono<HttpEnv>, ask: AskApi): void {
  const reply = <O>({ status, body }: ApiAnswer, show: (output: O) => object): Response =>
    Response.json(status === 200 ? show(body as O) : body, { status })

  const inputOf = (c: Context<HttpEnv>, operation: string) => jsonBody(c, operation, limits.requestBytesMax)

  app.get('/api/agents', async (c) => {
    const status = c.req.query('status')
    return reply<{ runs: Run[] }>(await ask(c, 'run.list', { status }), ({ runs }) => ({
      agents: runs.map(agentStatusOf),
    }))
  })
  app.post('/api/agents', async (c) => reply(await ask(c, 'run.start', await inputOf(c, 'run.start')), agentStatusOf))
  app.get('/api/agents/:id', async (c) => {
    const id = c.req.param('id')
    const answer = await ask(c, 'run.status', { runs: [id] })
    const [run] = (answer.body as { runs?: (Run | { id: string; error: string })[] }).runs ?? []
    if (run && 'error' in run) return reply(failed(refusal('run.unknown', { run: id })), (body: object) => body)
    return reply(answer, () => agentStatusOf(run as Run))
  })
  app.post('/api/agents/:id/stop', async (c) => {
    const { reason } = ((await inputOf(c, 'run.stop')) ?? {}) as { reason?: string }
    return reply(await ask(c, 'run.stop', { run: c.req.param('id'), reason }), agentStatusOf)
  })
  app.get('/api/agents/:id/payload', async (c) => {
    const answer = await ask(c, 'run.payload', { run: c.req.param('id') })
    if (answer.status !== 200) return Response.json(answer.body, { status: answer.status })
    if (!takesGzip(c.req.header('accept-encoding'))) throw new RefusalError('encoding.refused')
    const bytes = Buffer.from((answer.body as { gzip: string }).gzip, 'base64')
    const headers = {
      'content-type': 'text/plain; charset=utf-8',
      'content-encoding': 'gzip',
      'content-length': String(bytes.length),
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    }
    return new Response(bytes, { headers })
  })
}

/** Named with a weight above zero, by itself or by `*`; its own name goes before the star. */
export function takesGzip(header: string | undefined): boolean {
  const weights = new Map<string, number>()
  for (const part of (header ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
    const weight = parameters.map((each) => /^q\s*=\s*(.*)$/.exec(each)?.[1]).find((each) => each !== undefined)
    if (name !== '') weights.set(name, weight === undefined ? 1 : Number(weight))
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}
