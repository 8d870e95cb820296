// A home of its own with a project in which this checkout's packages are installed, and a relay: where the commands of a document are typed.
import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

export const root = fileURLToPath(new URL('../..', import.meta.url))
const commandMs = 60_000

export function write(path, text, mode) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  if (mode !== undefined) chmodSync(path, mode)
}

export async function until(what, isSo, ms = 20_000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) {
    const answer = await isSo()
    if (answer) return answer
  }
  throw new Error(`not within ${ms / 1000} s: ${what}`)
}

export class World {
  #children = []
  #closing = []

  constructor(place, name, env = {}) {
    this.place = join(place, name)
    this.home = join(this.place, 'home')
    this.project = join(this.place, 'project')
    this.bin = join(this.place, 'bin')
    for (const folder of [this.home, this.project, this.bin]) mkdirSync(folder, { recursive: true })
    write(join(this.project, 'package.json'), '{"private":true,"type":"module"}\n')
    installed(join(this.project, 'node_modules'), ['zod'])
    for (const [command, launcher] of launchers) symlinkSync(launcher, join(this.bin, command))
    const npm = { npm_config_offline: 'true', npm_config_update_notifier: 'false' }
    this.env = { PATH: `${this.bin}:${process.env.PATH}`, HOME: this.home, RELAY_PORT: '0', ...npm, ...env }
  }

  /** Programs that stand in for CLIs: each leaves a note of how it was started. */
  standIns(...names) {
    for (const name of names) {
      cpSync(join(root, 'test/seeds/stand-in.cjs'), join(this.bin, name))
      chmodSync(join(this.bin, name), 0o755)
    }
  }

  /** Types a line into a shell. */
  sh(line, { cwd = this.project, env = {}, input = '', ms = commandMs } = {}) {
    return new Promise((resolve) => {
      const child = spawn('sh', ['-c', line], { cwd, env: { ...this.env, ...env }, detached: true })
      let [out, all] = ['', '']
      child.stdout.on('data', (part) => {
        out += part
        all += part
      })
      child.stderr.on('data', (part) => {
        all += part
      })
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      const timer = setTimeout(() => end(child), ms)
      // What it has left in the background may hold its pipes.
      child.on('exit', (code) => {
        clearTimeout(timer)
        setTimeout(() => resolve({ code, out, all }), 100)
      })
    })
  }

  /** The same, for a line that stays: resolves when it has printed what is awaited. */
  async stays(line, awaited, options = {}) {
    const env = { ...this.env, ...options.env }
    const child = spawn('sh', ['-c', line], { cwd: options.cwd ?? this.project, env, detached: true })
    this.#children.push(child)
    const running = { child, text: '' }
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        running.text += part
      })
    await until(`${awaited} from ${line}\n${running.text}`, () => awaited.test(running.text) || child.exitCode !== null)
    if (!awaited.test(running.text)) throw new Error(`${line} ended: ${running.text}`)
    return running
  }

  /** An MCP host with one server: the address of one, or the entry of one in a configuration. */
  async host(server, name = 'host', options = {}) {
    const transport =
      typeof server === 'string'
        ? new StreamableHTTPClientTransport(new URL(server))
        : new StdioClientTransport({
            ...server,
            cwd: options.cwd ?? this.project,
            env: { ...this.env, ...server.env, ...options.env },
            stderr: 'ignore',
          })
    const client = new Client({ name, version: '1' })
    await client.connect(options.transport ?? transport)
    this.#closing.push(() => client.close())
    return {
      client,
      tools: async () => (await client.listTools()).tools,
      call: async (tool, input = {}) => {
        const answer = await client.callTool({ name: tool, arguments: input })
        const text = answer.content[0].text
        return {
          text,
          all: answer.content.map((block) => block.text).join(''),
          isError: answer.isError === true,
          answer,
        }
      },
    }
  }

  /** A program of the SDK. */
  async agent(agentName, where = {}) {
    const options = { agentName, autoConnect: false, env: this.env, cwd: this.project, ...where }
    const client = new RelayClient(options)
    await client.connect()
    this.#closing.push(async () => client.disconnect())
    return client
  }

  async close() {
    for (const close of this.#closing) await close().catch(() => {})
    for (const child of this.#children) end(child)
    await Promise.all(
      this.#children.map((child) => until('its end', () => child.exitCode ?? child.signalCode).catch(() => {})),
    )
    await this.sh('agent-relay daemon stop')
  }
}

const launchers = [
  ['agent-relay', join(root, 'packages/relay/bin/agent-relay.cjs')],
  ['agent-relay-mcp', join(root, 'packages/mcp/bin/agent-relay-mcp.cjs')],
]

/** As if this checkout's packages, and some of its dependencies, were installed there. */
export function installed(modules, names = [], from = join(root, 'node_modules')) {
  const own = readdirSync(join(root, 'node_modules/@agent-relay')).map((name) => `@agent-relay/${name}`)
  for (const [name, target] of [
    ...own.map((name) => [name, join(root, 'node_modules', name)]),
    ...names.map((name) => [name, join(from, name)]),
    ...launchers.map(([command, launcher]) => [`.bin/${command}`, launcher]),
  ]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(target, join(modules, name))
  }
}

function end(child) {
  try {
    process.kill(-child.pid, 'SIGTERM')
  } catch {
    // It has ended.
  }
}
