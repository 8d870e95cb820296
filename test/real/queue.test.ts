// The queue of approvals with each real CLI, as a worker and started by hand: whether its questions are seen there, whole, and answers reach it.
// When all of them have run it writes queue.json, of which `npm run reference` makes a table in docs/reference/hosts.md.

import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Approval, Need } from '@agent-relay/sdk/protocol'
import { afterAll, expect, test } from 'vitest'
import { until } from '../until.ts'
import { atTerminal } from './at-terminal.ts'
import { type Cli, clis, trusting } from './clis.ts'
import { install } from './installing.ts'
import { OwnWorld } from './own-world.ts'
import { RealWorld } from './world.ts'

const report = fileURLToPath(new URL('queue.json', import.meta.url))
/** A terminal that is ready may still start what it needs. */
const settleMs = 2_000
/** A text that is longer is pasted. */
const pasteChars = 500
/** A dialog that is not in the queue by then will not be. */
const unseenMs = 3_000

/** What a CLI's model calls to run a command and to write a file, so that the CLI asks for leave. */
interface Asker {
  args?: string[]
  prepare?(work: string): void
  run(command: string): string
  write(path: string, content: string): string
  /** What its terminal shows, started by hand: that it is ready, and that it asks. */
  asks: { args?: string[]; ready: RegExp; dialog: RegExp }
}

const use = (tool: string, input: object) => `use ${tool} ${JSON.stringify(input)}`
const description = 'work'
const escalated = { sandbox_permissions: 'require_escalated', justification: 'need it' }
const patched = (path: string, content: string) =>
  `*** Begin Patch\n*** Add File: ${path}\n${content.replaceAll(/^/gm, '+')}\n*** End Patch\n`

const askers: Record<string, Asker> = {
  claude: {
    asks: { ready: /\? for shortcuts|manual mode/, dialog: /Do you want to/ },
    args: ['--permission-mode', 'default'],
    run: (command) => use('Bash', { command, description }),
    write: (file_path, content) => use('Write', { file_path, content }),
  },
  codex: {
    asks: { ready: /fake-model default/, dialog: /Press enter to confirm/ },
    args: ['--sandbox', 'read-only'],
    run: (cmd) => use('exec_command', { cmd, ...escalated }),
    write: (path, content) => use('exec_command', { cmd: `apply_patch <<'EOF'\n${patched(path, content)}EOF` }),
  },
  opencode: {
    asks: { ready: /ctrl\+p commands/, dialog: /Allow once\s+Allow always/ },
    prepare: (work) =>
      writeFileSync(join(work, 'opencode.json'), JSON.stringify({ permission: { bash: 'ask', edit: 'ask' } })),
    run: (command) => use('bash', { command, description }),
    write: (filePath, content) => use('write', { filePath, content }),
  },
  gemini: {
    asks: { args: ['--skip-trust'], ready: /Type your message/, dialog: /● \d+\. / },
    run: (command) => use('run_shell_command', { command }),
    write: (file_path, content) => use('write_file', { file_path, content }),
  },
  copilot: {
    asks: { ready: /\/ commands/, dialog: /Do you want to/ },
    run: (command) => use('bash', { command, description, mode: 'sync' }),
    write: (path, content) => use('create', { path, file_text: content }),
  },
}

/** One line of the table. `no`: it is asked at its terminal alone. */
interface Row {
  host: string
  how: 'hired' | 'by hand'
  seen: 'yes' | 'no'
  whole?: 'yes' | 'no'
  allow?: 'yes'
  deny?: 'yes'
  /** How the words of who says no reach the model. */
  words?: 'with the refusal' | 'as a message'
  restart?: 'same row' | 'another row' | 'ends, with retry'
}

const rows: Row[] = []
const times: string[] = []
afterAll(() => {
  console.log(times.join('\n'))
  if (rows.length === 2 * clis.length) writeFileSync(report, `${JSON.stringify(rows, null, 2)}\n`)
})

for (const cli of clis)
  for (const how of ['hired', 'by hand'] as const)
    test(`${cli.name}, ${how}`, async ({ skip }) => {
      const installed = install(cli)
      if ('reason' in installed) return skip(installed.reason)
      const asker = askers[cli.name] as Asker
      const seat = await (how === 'hired' ? hire : start)(cli, asker, installed.folder)
      const row: Row = { host: cli.npmPackage, how, seen: 'no' }
      try {
        await fill(row, seat, asker)
      } catch (error) {
        throw new Error(`${error}\n${await seat.screen()}`)
      } finally {
        await seat.world.close()
      }
      // These are promised.
      if (how === 'hired' || ['claude', 'codex', 'opencode'].includes(cli.name))
        expect(row).toMatchObject({ seen: 'yes', whole: 'yes', allow: 'yes', deny: 'yes' })
      console.log(JSON.stringify(row))
      rows.push(row)
    })

/** An agent whose model does what it is told, and the world that it is in. */
interface Seat {
  world: RealWorld | OwnWorld
  name: string
  tell(text: string): Promise<unknown>
  screen(): Promise<string>
  /** Its dialog is open at its terminal, and is not in the queue. Left out where it cannot be. */
  isUnseen?(): Promise<boolean>
  /** Of the daemon, while it asks. */
  restart(asked: Approval): Promise<Row['restart']>
}

async function hire(cli: Cli, { args, prepare }: Asker, folder: string): Promise<Seat> {
  const world = await RealWorld.start(cli, folder, { hasLead: false })
  prepare?.(world.work)
  const name = 'Worker'
  await world.hire({ name, cli: cli.name, args, task: 'Say hello.' })
  await until(() => world.asked.some(({ heard }) => heard?.text.includes('Say hello.')))
  return {
    ...{ world, name },
    tell: (text) => world.send(name, text),
    screen: async () => `${world.story()}\n${(await atTerminal(world, 'logs', name)).said}`,
    async restart() {
      await world.restart()
      await until(async () =>
        (await needs(world)).some(({ kind, who, canRetry }) => kind === 'failed' && who === name && canRetry),
      )
      return 'ends, with retry'
    },
  }
}

async function start(cli: Cli, { args = [], prepare, asks }: Asker, folder: string): Promise<Seat> {
  const world = await OwnWorld.start(trusting(cli), folder)
  prepare?.(world.work)
  const terminal = await world.open(...args, ...(asks.args ?? []))
  await terminal.shows(asks.ready)
  await sleep(settleMs)
  return {
    ...{ world, name: cli.name },
    async tell(text) {
      if (text.length < pasteChars) return terminal.enter(text)
      // As one paste: some CLIs take an Enter right after much typed text for a part of it.
      await terminal.type(`\u001b[200~${text}\u001b[201~`)
      await sleep(settleMs)
      await terminal.type('\r')
    },
    screen: () => terminal.screen(),
    async isUnseen() {
      if (!asks.dialog.test(await terminal.screen())) return false
      await sleep(unseenMs)
      return (await approvals(world)).length === 0
    },
    async restart(asked) {
      await world.restart()
      await until(async () => (await approvals(world)).length === 1)
      const isSame = (await approvals(world))[0]?.id === asked.id
      // Codex's server asks again whoever joins: a hook has a key by which the row is known.
      if (cli.name !== 'codex') expect(isSame).toBe(true)
      return isSame ? 'same row' : 'another row'
    },
  }
}

const approvals = async (world: Seat['world']): Promise<Approval[]> => (await told(world, 'approvals')).approvals
const needs = async (world: Seat['world']): Promise<Need[]> => (await told(world, 'needs')).needs

/** What a command of ours answers a person in JSON. */
async function told(world: Seat['world'], ...args: string[]) {
  const { said } = await atTerminal(world, ...args, '--json')
  return JSON.parse(said.trim().split('\n').at(-1) as string)
}

async function fill(row: Row, seat: Seat, asker: Asker): Promise<void> {
  const { world, tell, isUnseen } = seat
  let isSeen = true
  const asks = async (text: string): Promise<Approval> => {
    await tell(text)
    await until(async () => {
      const isThere = (await approvals(world)).length === 1
      isSeen = isThere || !(await isUnseen?.())
      return isThere || !isSeen
    })
    return (await approvals(world))[0] as Approval
  }
  const made = (file: string) => join(world.work, file)
  const command = `touch made-1 && echo ${'0123456789'.repeat(20)} > made-2`
  const first = await asks(asker.run(command))
  if (!isSeen) return
  row.seen = 'yes'
  expect((await atTerminal(world, 'approve', first.id)).said).toContain('Allowed.')
  await until(() => existsSync(made('made-2')))
  row.allow = 'yes'
  await tellTimes(row, world, first, made('made-2'))

  const content = Array.from({ length: 60 }, (_, n) => `line ${n} of a file`).join('\n')
  const path = made('made-3')
  const second = await asks(asker.write(path, content))
  const has = (text: string) => second.input.includes(text)
  const isWhole = first.input === command && has(path) && content.split('\n').every(has)
  row.whole = isWhole && !first.hidden && !second.hidden ? 'yes' : 'no'
  const { said } = await atTerminal(world, 'deny', second.id, 'Use a branch, please.')
  await until(() => world.asked.some(({ body }) => JSON.stringify(body).includes('Use a branch, please.')))
  row.words = said.includes('as a message') ? 'as a message' : 'with the refusal'
  expect(existsSync(path)).toBe(false)
  row.deny = 'yes'

  await until(async () => (await approvals(world)).length === 0)
  const third = await asks(asker.run('touch made-4'))
  row.restart = await seat.restart(third)
  if (row.restart !== 'same row') return
  await atTerminal(world, 'approve', third.id)
  await until(() => existsSync(made('made-4')))
}

/** From the model's wish to its row, which holds the time that the CLI takes, and from the answer to what it did. */
async function tellTimes({ host, how }: Row, world: Seat['world'], asked: Approval, file: string): Promise<void> {
  const closed = (await told(world, 'events', '--type', 'approval.closed')).events.at(-1)
  const wished = world.asked.findLast(({ said }) => said?.tool)?.wallAt ?? 0
  const shown = Math.round(Date.parse(asked.since) - wished)
  const ran = Math.max(0, Math.round(statSync(file).mtimeMs - Date.parse(closed.ts)))
  times.push(`${host}, ${how}: in the queue ${shown} ms after its model had asked, done ${ran} ms after the answer`)
}
