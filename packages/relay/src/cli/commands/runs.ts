// `runs`: giving a contract to an agent, seeing how it fares, ending it, and taking what it handed over.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { daemonName, limits, type RelayClient } from '@agent-relay/sdk'
import type { HarnessName, Run, Worker } from '@agent-relay/sdk/protocol'
import { CommandError, exits, type Invocation, type Run as RunCommand } from '../command.ts'
import { withClient } from '../context.ts'
import type { Print } from '../print.ts'
import { ageOf, clean, dateTimeOf, oneLine, sizeOf } from '../text.ts'

/** How often a waiting command looks. */
const lookMs = 250
/** A program that ends at once does so within `spawnLiveMs`. */
const beginMs = 2 * limits.spawnLiveMs

export const start: RunCommand = async (invocation) => {
  const { options, print, cwd } = invocation
  const contract = await contractOf(invocation)
  const { harness, model, agent } = options
  const place = options.cwd === undefined ? cwd : resolve(cwd ?? '/', options.cwd)
  await withClient(invocation, 'agent', async ({ client }) => {
    const input = { contract, harness: harness as HarnessName | undefined, model, agent, cwd: place }
    const run = await begun(client, await client.call('run.start', input))
    if (options.wait || run.status === 'stopped') await seeEnd(client, print, run)
    else await (print.isJson ? print.json(run) : print.line(print.typed(startedLine(run))))
  })
}

/** What cannot begin at all is over as soon as it was started: a model that is not set, a program that is not there. */
async function begun(client: RelayClient, run: Run): Promise<Run> {
  if (run.harness === 'external') return run
  // Commands are decided in their order: when this one is answered, a loop that cannot begin has been stopped.
  await client.call('inbox.read', { messages: [] })
  const lives = async () =>
    run.harness === 'loop' || (await client.call('worker.list', {})).workers.some((each) => isLive(each, run))
  for (const until = Date.now() + beginMs; ; await sleep(lookMs)) {
    const isLive = await lives()
    const now = await statusOf(client, run.id)
    if (isLive || isOver(now) || Date.now() > until) return now
  }
}

function isLive({ name, status }: Worker, { agent }: Run): boolean {
  return name === agent && status !== 'wished'
}

async function seeEnd(client: RelayClient, print: Print, run: Run): Promise<void> {
  // Whoever does not wait to the end still knows what goes on.
  if (!print.isJson && !isOver(run)) print.say(startedLine(run))
  const ended = await waited(client, print, run)
  const { summary } = ended
  const text = print.isJson ? print.json(ended) : summary === undefined ? true : print.line(clean(summary))
  if (await text) await markSeen(client, ended)
  if (!print.isJson && ended.payloadSize !== undefined)
    print.say(`payload: ${sizeOf(ended.payloadSize)}. To have it: agent-relay runs payload ${ended.id}`)
  if (ended.status !== 'completed')
    throw new CommandError(`${ended.id} stopped${why(ended)}`, exits.refused, { isAnswered: true })
}

export const status: RunCommand = async (invocation) => {
  const { args, print } = invocation
  await withClient(invocation, 'agent', async ({ client }) => {
    const asked = args.length > 0 ? await client.call('run.status', { runs: args }) : await client.call('run.list', {})
    const unknown = asked.runs.filter((each) => 'error' in each)
    const runs = asked.runs.filter((each): each is Run => !('error' in each))
    if (print.isJson) await print.json(asked)
    else if (args.length > 0) for (const run of runs) await print.line(block(print, run))
    else if (runs.length === 0) print.say('No run yet. To start one: agent-relay runs start --contract "..."')
    else await print.table(columns, runs.map(row))
    if (unknown.length > 0)
      throw new CommandError(unknown.map(({ error }) => error).join('\n'), exits.refused, { isAnswered: true })
  })
}

export const stop: RunCommand = async (invocation) => {
  const { args, print } = invocation
  await withClient(invocation, 'agent', async ({ client }) => {
    const run = await client.call('run.stop', { run: args[0] as string })
    if (print.isJson) await print.json(run)
    else await print.line(`${run.id} ${run.status === 'completed' ? 'had completed already.' : 'stopped.'}`)
  })
}

/** The bytes as they were handed over, and nothing else. */
export const payload: RunCommand = async (invocation) => {
  const { args, print } = invocation
  await withClient(invocation, 'agent', async ({ client }) => {
    const { gzip } = await client.call('run.payload', { run: args[0] as string })
    const bytes = await promisify(gunzip)(Buffer.from(gzip, 'base64'))
    if (print.isJson) await print.json({ payload: bytes.toString() })
    else await print.bytes(bytes)
  })
}

async function contractOf({ options }: Invocation): Promise<string> {
  const { contract, file } = options
  if (contract !== undefined && file !== undefined)
    throw new CommandError('--contract and -f both say what it shall do: give one of them.', exits.usage)
  if (contract !== undefined) return contract
  if (file === undefined) throw new CommandError('Say what it shall do: --contract "...", or -f FILE', exits.usage)
  if (file !== '-') return textOf(file)
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk
  return text
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (error as Error).message
    throw new CommandError(`-f ${oneLine(file)}: ${why}.`, exits.usage)
  }
}

async function waited(client: RelayClient, print: Print, begun: Run): Promise<Run> {
  const from = Date.now()
  for (let run = begun; ; await sleep(lookMs)) {
    run = await statusOf(client, begun.id)
    if (isOver(run)) {
      print.progress()
      return run
    }
    print.progress(`${run.agent} works, ${Math.round((Date.now() - from) / 1000)} s ${lastLine(run)}`)
  }
}

/** The message of the daemon's that tells of this end: who has just seen it need not read it again. */
async function markSeen(client: RelayClient, { id }: Run): Promise<void> {
  const filter = { from: daemonName, unreadOnly: false, limit: limits.pageMessagesMax }
  const { messages } = await client.call('inbox.peek', filter)
  const told = messages.find(({ kind, body }) => kind === 'status' && body.startsWith(`Run ${id} `))
  if (told) await client.markRead(told.id)
}

async function statusOf(client: RelayClient, id: string): Promise<Run> {
  return (await client.call('run.status', { runs: [id] })).runs[0] as Run
}

function isOver({ status }: Run): boolean {
  return status !== 'running' && status !== 'ready'
}

function lastLine({ preview = '' }: Run): string {
  return oneLine(preview.trimEnd().split('\n').at(-1) ?? '')
}

function startedLine({ id, agent, harness, parent }: Run): string {
  return `${id} started: ${agent} (${harness}), for ${parent}. How it fares: agent-relay runs status ${id}`
}

const columns = [
  { head: 'ID' },
  { head: 'STATUS' },
  { head: 'AGENT' },
  { head: 'HARNESS' },
  { head: 'STARTED' },
  { head: 'WHAT CAME OF IT', mayShrink: true },
]

function row(run: Run): string[] {
  const { id, agent, harness, startedAt, summary, preview = '' } = run
  const what = summary ?? (run.status === 'stopped' ? why(run).replace(/^: /, '') : lastLine({ ...run, preview }))
  const status = run.blocked === undefined ? run.status : 'blocked'
  return [id, status, agent, harness, ageOf(startedAt), what].map(oneLine)
}

function why({ stopReason }: Run): string {
  return stopReason === undefined ? '' : `: ${stopReason}`
}

function block(print: Print, run: Run): string {
  const { id, agent, harness, parent, status, startedAt, completedAt, stoppedAt, summary, payloadSize, preview } = run
  const ended = completedAt ?? stoppedAt
  const times = `started ${dateTimeOf(startedAt)}${ended === undefined ? '' : `, ended ${dateTimeOf(ended)}`}`
  const stuck = run.blocked === undefined ? '' : `, blocked: ${run.blocked}. To look: agent-relay attach ${agent}`
  const head = `${print.paint('bold', id)} ${status}${oneLine(stuck + why(run))}`
  const lines = [head, `  ${oneLine(`${agent} (${harness}), for ${parent}, ${times}`)}`]
  if (payloadSize !== undefined)
    lines.push(print.typed(`  payload ${sizeOf(payloadSize)}: agent-relay runs payload ${id}`))
  const text = summary ?? preview
  if (text !== undefined && text !== '') lines.push(clean(text).trimEnd().replace(/^/gm, '  '))
  return lines.join('\n')
}
