// Each real CLI as a worker, from spawn to release, against the scripted model. Prints what was seen as a table.

import { afterAll, expect, test } from 'vitest'
import { until } from '../until.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { RealWorld } from './world.ts'

const name = 'Worker'
const rows: Record<string, string>[] = []
afterAll(() => process.stdout.write(table()))

function table(): string {
  const columns = ['cli', 'control', 'ready', 'task', 'idle', 'route', 'busy', 'cancel', 'released', 'left', 'failed']
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)))
  return `\n${lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n\n`
}

/** The scripted model does what the newest text says. */
const call = (to: string, message: string) => `use relay_send ${JSON.stringify({ to, message })}`

for (const cli of clis) {
  test(cli.name, async ({ skip }) => {
    const row: Record<string, string> = { cli: cli.npmPackage }
    rows.push(row)
    const installed = install(cli)
    if ('reason' in installed) {
      row.ready = `skipped: ${installed.reason}`
      return skip(row.ready)
    }
    await drive(cli, installed.folder, row)
  })
}

async function drive(cli: Cli, folder: string, row: Record<string, string>): Promise<void> {
  const world = await RealWorld.start(cli, folder)
  try {
    await spawnIt(world, cli, row)
    await whileIdle(world, row)
    await whileBusy(world, row)
    if (row.control === 'acp') await cancelIt(world, row)
    await releaseIt(world, row)
  } catch (error) {
    row.failed = String(error)
    throw new Error(`${error}\n${world.story()}`)
  } finally {
    await world.close()
  }
}

async function spawnIt(world: RealWorld, { name: cli }: Cli, row: Record<string, string>): Promise<void> {
  const input = { name, cli, task: `Your task.\n${call('Lead', 'task-done')}`, cwd: world.work }
  expect(await world.tool('relay_spawn', input)).toBe(
    `Worker "${name}" spawned successfully. It will message you when ready.`,
  )
  const readyMs = await until(async () => heard(await world.leadHears(), `"${name}" is ready`) === 1)
  row.ready = seconds(readyMs)
  row.control = (await world.worker(name))?.control ?? ''
  row.task = seconds(await until(async () => heard(await world.leadHears(), 'task-done') === 1))
  const lines = world.processes().map(({ line }) => line)
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.filter((line) => /\bat_[\w-]{8}|rk_[\w-]{8}/.test(line))).toEqual([])
}

async function whileIdle(world: RealWorld, row: Record<string, string>): Promise<void> {
  await until(async () => (await world.worker(name))?.status === 'idle')
  // What waits beside it is a shell.
  expect(world.processes().filter(({ line }) => /\bnode\b.* hook wait/.test(line))).toEqual([])
  const id = await world.send(name, `While you are idle: ${call('Peer', 'idle-done')}`)
  row.idle = seconds(await until(() => heard(world.heard, 'idle-done') === 1))
  row.route = (await world.receipt(id))?.route ?? ''
  expect(await world.receipt(id)).toMatchObject({ state: 'read' })
}

async function whileBusy(world: RealWorld, row: Record<string, string>): Promise<void> {
  await until(async () => (await world.worker(name))?.status === 'idle')
  await world.send(name, 'slow 6')
  await until(() => world.asked.some(({ said }) => said?.text?.startsWith('word0')))
  await until(async () => (await world.worker(name))?.status === 'busy')
  const id = await world.send(name, `While you are busy: ${call('Peer', 'busy-done')}`)
  row.busy = seconds(await until(() => heard(world.heard, 'busy-done') === 1))
  expect(await world.receipt(id)).toMatchObject({ state: 'read' })
  // What it was at was not cut short, and nothing was done twice.
  expect(world.asked.filter(({ isCut, said }) => isCut && said?.text?.startsWith('word0'))).toEqual([])
  const calls = world.asked.flatMap(({ said }) => (said?.tool && said.args?.message) || [])
  expect(calls.sort()).toEqual(['busy-done', 'idle-done', 'task-done'])
}

/** As a person does it below the transcript: with Ctrl-C. */
async function cancelIt(world: RealWorld, row: Record<string, string>): Promise<void> {
  await until(async () => (await world.worker(name))?.status === 'idle')
  const before = world.asked.length
  await world.send(name, 'slow 60')
  await until(() => world.asked.slice(before).some(({ said }) => said?.text?.startsWith('word0')))
  await world.types(name, '\x03')
  row.cancel = seconds(await until(async () => (await world.worker(name))?.status === 'idle'))
}

async function releaseIt(world: RealWorld, row: Record<string, string>): Promise<void> {
  await until(async () => (await world.worker(name))?.status === 'idle')
  const start = performance.now()
  expect(await world.tool('relay_release', { name })).toContain(name)
  row.released = seconds(performance.now() - start)
  expect(await world.worker(name)).toMatchObject({ status: 'exited' })
  expect(world.processes()).toEqual([])
  row.left = '0 processes'
}

function heard(messages: readonly string[], text: string): number {
  return messages.filter((message) => message.includes(text)).length
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
