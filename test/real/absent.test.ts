// Each real CLI with Agent Relay broken works as if it had never been installed: nothing on its screen, and its model only hears one thing more, why
// our tools are not there; our time is printed. Installed by `mcp install --yes`; then the daemon is down, its socket dead, the disk full, the package gone.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { howToMount, smallDiskCommand } from '@agent-relay/prove/scenarios/full-disk'
import { expect, test } from 'vitest'
import { until } from '../until.ts'
import { type Cli, hosts } from './clis.ts'
import { install } from './installing.ts'
import { OwnWorld } from './own-world.ts'

interface Guest {
  cli: string
  /** Of `mcp install`. */
  flags?: string[]
  /** A run that ends by itself. */
  run: string[]
  open: string[]
  isReady: RegExp
  /** Lines that it shows of every server or hook that somebody has installed, whether that works or not; numbers are N. */
  shows?: RegExp
  /** The tools that it gives its model as soon as there is any server. */
  tools?: RegExp
  prepare?(home: string, work: string): void
}

const trustCodex = (home: string, work: string) =>
  appendFileSync(join(home, '.codex/config.toml'), `[projects."${work}"]\ntrust_level = "trusted"\n`)
const codex = { cli: 'codex', isReady: /fake-model default/, tools: /mcp_resource/, prepare: trustCodex }
const trust = '--dangerously-bypass-hook-trust'
const guests: Record<string, Guest> = {
  claude: { cli: 'claude', run: ['-p'], open: ['--permission-mode', 'default'], isReady: /manual mode/ },
  codex: { ...codex, run: ['exec', '--skip-git-repo-check'], open: [] },
  'codex --hooks': {
    ...codex,
    flags: ['--hooks'],
    run: ['exec', '--skip-git-repo-check', trust],
    open: [trust],
    shows: /^hook: /,
  },
  gemini: {
    cli: 'gemini',
    run: ['--skip-trust', '-p'],
    open: ['--skip-trust'],
    isReady: /Type your message/,
    // For three seconds after each hook; and measurements of its own, which it may leave out.
    shows: /Executing Hooks?: agent-relay|N MCP server|^\[STARTUP\]/,
  },
  opencode: { cli: 'opencode', run: ['run'], open: [], isReady: /ctrl\+p commands/, shows: /N MCP \/status/ },
  copilot: {
    cli: 'copilot',
    run: ['-p'],
    open: [],
    isReady: /\/ commands/,
    prepare(home, work) {
      mkdirSync(join(home, '.copilot'))
      writeFileSync(join(home, '.copilot/config.json'), JSON.stringify({ trusted_folders: [work] }))
    },
  },
  qwen: {
    cli: 'qwen',
    run: ['--auth-type', 'openai', '-p'],
    open: ['--auth-type', 'openai'],
    isReady: /Type your message/,
  },
}

const mount = howToMount()
/** The data directory as it is, on a disk that has no byte left. */
const fullDisk = (data: string): string[] => {
  if ('reason' in mount) throw new Error(mount.reason)
  const fill = 'cp -a "$1/." "$2/"; dd if=/dev/zero of="$2/ballast" bs=512 2> /dev/null; shift 2; exec "$@"'
  return [...smallDiskCommand(mount.unshare, 32, data), 'sh', '-c', fill, 'sh', `${data}.copy`, data]
}

interface Trouble {
  name: string
  make(world: OwnWorld): Promise<void> | void
  /** What runs the CLI. */
  through?(data: string): string[]
  /** Its screen is looked at, too; to the others, the host's side is the same. */
  isSeen?: true
}

const troubles: Trouble[] = [
  { name: 'the daemon down', make: (world) => void world.relay('daemon', 'stop'), isSeen: true },
  { name: 'its socket a dead file', make: deadSocket },
  {
    name: 'the disk full',
    make: ({ env }) => void execFileSync('cp', ['-a', env.RELAY_DATA_DIR as string, `${env.RELAY_DATA_DIR}.copy`]),
    through: fullDisk,
  },
  { name: 'our package gone', make: removePackage, isSeen: true },
]

async function deadSocket({ env }: OwnWorld): Promise<void> {
  const data = env.RELAY_DATA_DIR as string
  const socket = join(data, 'projects/play/daemon.sock')
  const server = createServer().listen(`${socket}.made`)
  await until(() => existsSync(`${socket}.made`))
  renameSync(`${socket}.made`, socket)
  server.close()
  writeFileSync(join(data, 'hooks/daemon'), execFileSync('sh', ['-c', 'echo $$']))
}

/** What the launcher leads to is not there. */
function removePackage({ env }: OwnWorld): void {
  const launcher = join(env.RELAY_DATA_DIR as string, 'bin/agent-relay-mcp')
  const text = readFileSync(launcher, 'utf8')
  writeFileSync(launcher, text.replace(/^script=.*$/m, `script='/nowhere/agent-relay-mcp.cjs'`))
}

for (const [name, guest] of Object.entries(guests)) {
  test(name, async ({ skip }) => {
    const cli = hosts.find((each) => each.name === guest.cli) as Cli
    const installed = install(cli)
    if ('reason' in installed) return skip(installed.reason)
    const world = await OwnWorld.withoutUs(cli, installed.folder)
    const visit = new Visit(world, guest, join(installed.folder, cli.name))
    try {
      guest.prepare?.(world.home, world.work)
      // The first start makes files, and says so.
      await visit.run([])
      const alone = { ...(await visit.run([])), screen: await visit.screen() }
      world.install(...(guest.flags ?? []))
      for (const { name, make, through: by, isSeen } of troubles) {
        if (by && 'reason' in mount) console.log(`${name}: not tried, ${mount.reason}`)
        if (by && 'reason' in mount) continue
        await make(world)
        const through = by?.(world.env.RELAY_DATA_DIR as string) ?? []
        const { printed, asked } = await visit.run(through)
        expect([name, printed]).toEqual([name, alone.printed])
        expectOnlyWhy(name, asked, alone.asked)
        if (isSeen) expect([name, visit.news(await visit.screen(), alone.screen)]).toEqual([name, []])
        // A disk of its own takes far longer to make than all of ours.
        if (!by) console.log(`${name}: our part of a start and a turn of ${guest.cli} takes ${await visit.ownMs()} ms`)
      }
    } finally {
      await world.endAll()
      rmSync(world.root, { recursive: true, force: true })
    }
  })
}

/** What a model is given. */
interface Asked {
  tools: string[]
  text: string
}

/** All that it was told without us, in the same order, and between it the reason, in the host's own frame; and the one tool that says the same. */
function expectOnlyWhy(name: string, now: Asked, before: Asked): void {
  const added = now.tools.filter((tool) => !before.tools.includes(tool) && !tool.endsWith('relay_status'))
  const lost = before.tools.filter((tool) => !now.tools.includes(tool))
  const lines = now.text.split('\n')
  let at = 0
  const missing = before.text.split('\n').filter((line) => {
    const found = lines.indexOf(line, at)
    if (found >= 0) at = found + 1
    return found < 0
  })
  expect([name, added, lost, missing]).toEqual([name, [], [], []])
  if (lines.length > before.text.split('\n').length) expect(now.text).toMatch(/daemon is not running|agent-relay/)
}

/** All that may speak of us, or of something that failed. */
const suspicious = /relay|mcp|hook|fail|error|warn|issue|offline|launcher|exit/i

class Visit {
  readonly #world: OwnWorld
  readonly #guest: Guest
  readonly #program: string

  constructor(world: OwnWorld, guest: Guest, program: string) {
    this.#world = world
    this.#guest = guest
    this.#program = program
  }

  /** What it prints, and the request with which its model hears of the task. */
  async run(through: string[]): Promise<{ printed: string[]; asked: Asked }> {
    const { env, work, asked } = this.#world
    const from = asked.length
    const [file = '', ...args] = [...through, this.#program, ...this.#guest.run, 'say hello']
    const child = spawn(file, args, { env, cwd: work, stdio: ['ignore', 'pipe', 'pipe'] })
    const said: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => said.push(text))
    await once(child, 'close')
    const heard = asked.slice(from).map((each) => each.heard)
    const main = heard.find((each) => each && each.tools.length > 0 && each.text.includes('say hello'))
    const names = main?.tools.map(({ name }) => name ?? '') ?? []
    const tools = names.filter((name) => !this.#guest.tools?.test(name))
    await this.#world.endAll()
    // The model repeats the end of what it was asked, which may be the reason.
    const printed = this.#plain(said.join(''))
      .replace(/^ACK [\s\S]*/m, 'ACK')
      .split('\n')
    return {
      printed: printed.filter((line) => !this.#guest.shows?.test(line)),
      asked: { tools, text: this.#plain(main?.text ?? '') },
    }
  }

  /** After a start and a turn. */
  async screen(): Promise<string[]> {
    const { open, isReady } = this.#guest
    const { asked } = this.#world
    const terminal = await this.#world.open(...open)
    await terminal.shows(isReady)
    // What fails is shown somewhat later.
    await sleep(3_000)
    const first = await terminal.screen()
    const from = asked.length
    await terminal.enter('say hello')
    await until(() => asked.slice(from).some(({ heard }) => heard?.text.includes('say hello')))
    await sleep(2_000)
    const last = await terminal.screen()
    await this.#world.endAll()
    return this.#plain(`${first}\n${last}`).split('\n')
  }

  news(screen: string[], alone: string[]): string[] {
    const { shows } = this.#guest
    return screen.filter((line) => suspicious.test(line) && !alone.includes(line) && !shows?.test(line))
  }

  /** What differs from run to run is left out. */
  #plain(text: string): string {
    return (
      text
        .replaceAll(this.#world.root, '')
        // biome-ignore lint/suspicious/noControlCharactersInRegex: colours.
        .replace(/\u001b\[[\d;]*m/g, '')
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
        .replace(/\d+/g, 'N')
    )
  }

  /** All hooks of a turn and the server's list of tools, each in its quickest run: what is more than that is the machine's load. */
  async ownMs(): Promise<number> {
    const { env } = this.#world
    const server = [join(env.RELAY_DATA_DIR as string, 'bin/agent-relay-mcp'), 'serve']
    const bareMs = await this.#leastMs(['/bin/true'], '')
    let sum = Math.max(0, (await this.#leastMs(server, opening)) - bareMs)
    for (const command of this.#hooks())
      sum += Math.max(0, (await this.#leastMs(['/bin/sh', '-c', command], '{}\n')) - bareMs)
    return Math.round(sum)
  }

  /** Until it ends, or has answered a second line. */
  async #leastMs([file = '', ...args]: string[], input: string): Promise<number> {
    const { env, work: cwd } = this.#world
    const times: number[] = []
    for (let i = 0; i < 9; i++) {
      const from = performance.now()
      const child = spawn(file, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] })
      const ended = once(child, 'exit')
      child.stdin.on('error', () => {})
      child.stdin.write(input)
      if (input === opening) {
        let said = ''
        for await (const chunk of child.stdout) {
          said += chunk
          if (said.includes('"tools":[')) break
        }
      } else await ended
      times.push(performance.now() - from)
      child.kill('SIGKILL')
      await ended
    }
    return Math.min(...times)
  }

  /** The commands in all files of the home. */
  #hooks(): string[] {
    const { home } = this.#world
    const files = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /(settings|hooks|agent-relay)\.json$/.test(path),
    )
    return files.flatMap((path) => {
      const found: string[] = []
      JSON.parse(readFileSync(join(home, path), 'utf8'), (_, value) => {
        if (typeof value === 'string' && value.includes('agent-relay-mcp hook')) found.push(value)
        return value
      })
      return found
    })
  }
}

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'host', version: '1' } }
const opening =
  line({ id: 0, method: 'initialize', params: client }) +
  line({ method: 'notifications/initialized' }) +
  line({ id: 1, method: 'tools/list' })
