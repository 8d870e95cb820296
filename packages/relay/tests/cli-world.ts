// A data directory, a home and a project of their own for tests of the command line, and ways to run the real launcher in them. No tests.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../bin/agent-relay.cjs', import.meta.url))

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

interface Where {
  cwd?: string
  env?: Record<string, string | undefined>
  input?: string
}

export class World {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'cli-')))
  readonly dataDir = join(this.root, 'data')
  readonly cwd = this.directory('app')
  readonly #running = new Set<Running>()

  constructor() {
    // As after a global install.
    symlinkSync(launcher, join(this.directory('home/.local/bin'), 'agent-relay'))
  }

  directory(name: string): string {
    const path = join(this.root, name)
    mkdirSync(path, { recursive: true })
    return path
  }

  /** Runs to the end. What is said to who waits for longer than a second depends on the machine, and is left out. */
  async run(args: string[], where: Where = {}): Promise<Ran> {
    const running = this.start(args, where)
    running.child.stdin?.end(where.input ?? '')
    const ran = await running.ended
    return { ...ran, stderr: ran.stderr.replace(/^.* …\n/gm, '') }
  }

  async json<T = Record<string, unknown>>(args: string[], where: Where = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], where)
    if (code !== 0) throw new Error(`agent-relay ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout) as T
  }

  start(args: string[], { cwd = this.cwd, env = {} }: Where = {}): Running {
    const child = spawn(process.execPath, [launcher, ...args], { cwd, env: { ...this.#env(), ...env } })
    const running = new Running(child)
    this.#running.add(running)
    void running.ended.then(() => this.#running.delete(running))
    return running
  }

  /** A line as a person types it. */
  async shell(line: string): Promise<Ran> {
    return new Running(spawn('sh', ['-c', line], { cwd: this.cwd, env: this.#env() })).ended
  }

  /** Ends every process that was started here, the daemon included. */
  async close(): Promise<void> {
    if (existsSync(join(this.dataDir, 'control.sock'))) await this.run(['daemon', 'stop'])
    for (const running of this.#running) running.child.kill('SIGKILL')
    rmSync(this.root, { recursive: true, force: true })
  }

  #env(): Record<string, string | undefined> {
    return {
      PATH: `${join(this.root, 'home/.local/bin')}:${process.env.PATH}`,
      HOME: join(this.root, 'home'),
      TMPDIR: this.root,
      RELAY_DATA_DIR: this.dataDir,
      RELAY_PORT: '0',
      TZ: 'UTC',
    }
  }
}

export class Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ran>
  stdout = ''
  stderr = ''

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.on('data', (chunk) => {
      this.stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      this.stderr += chunk
    })
    // Ends by itself when it wants no input.
    child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr }))
    })
  }

  /** Resolves when its output, of both streams, matches. */
  async says(pattern: RegExp): Promise<void> {
    let isOver = false
    void this.ended.then(() => {
      isOver = true
    })
    while (!pattern.test(this.stdout) && !pattern.test(this.stderr)) {
      if (isOver) throw new Error(`it ended without saying ${pattern}: ${this.stdout}${this.stderr}`)
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<Ran> {
    this.child.kill(signal)
    return this.ended
  }
}
