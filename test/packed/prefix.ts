// Agent Relay as a user gets it: packed, and installed into a private prefix without a registry, by the very scripts that make the cloud image.
// No tests.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const deploy = join(root, 'deploy/workspace')

/** Nobody listens at that address, and there is nothing in the cache: whatever npm had to look up would fail. */
export function noRegistry(directory: string): Record<string, string> {
  return { npm_config_registry: 'http://127.0.0.1:9', npm_config_cache: join(directory, 'npm-cache') }
}

export class Prefix {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'packed-')))
  readonly package = join(this.root, 'prefix/lib/node_modules/agent-relay')
  /** What `npm run pack` made. */
  readonly archives = join(this.root, 'archives')
  readonly home = this.directory('home')
  readonly #children = new Set<ChildProcess>()

  static async install(): Promise<Prefix> {
    const prefix = new Prefix()
    await run('npm', ['run', 'pack', '--', prefix.archives], { cwd: root })
    const script = [join(deploy, 'install.sh'), prefix.archives, join(prefix.root, 'prefix')]
    await run('sh', script, { cwd: prefix.root, env: { ...prefix.env(), ...noRegistry(prefix.root) } })
    return prefix
  }

  directory(name: string): string {
    const path = join(this.root, name)
    mkdirSync(path, { recursive: true })
    return path
  }

  env(more: Record<string, string> = {}): Record<string, string> {
    const PATH = `${join(this.root, 'prefix/bin')}:${process.env.PATH}`
    return { PATH, HOME: this.home, TMPDIR: this.root, RELAY_PORT: '0', ...more }
  }

  /** Runs a command of the installation to its end. */
  async run(command: string, args: string[], cwd: string, more?: Record<string, string>): Promise<string> {
    return (await run(command, args, { cwd, env: this.env(more) })).stdout
  }

  /** Starts a command that keeps running; resolves when its output matches. */
  start(command: string, args: string[], cwd: string, until: RegExp, more?: Record<string, string>) {
    const child = spawn(command, args, { cwd, env: this.env(more) })
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    let said = ''
    return new Promise<ChildProcess>((resolve, reject) => {
      const heard = (chunk: Buffer) => {
        said += chunk
        if (until.test(said)) resolve(child)
      }
      child.stdout.on('data', heard)
      child.stderr.on('data', heard)
      child.once('exit', (code) => reject(new Error(`${command} ended with ${code}: ${said}`)))
    })
  }

  /** Bytes of all files. */
  get size(): number {
    return sizeOf(this.package)
  }

  close(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    rmSync(this.root, { recursive: true, force: true })
  }
}

export function deployScript(name: string): string {
  return join(deploy, name)
}

export function sizeOf(path: string): number {
  const stat = lstatSync(path)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

/** Resolves with the exit code. */
export function stopped(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code))
    child.kill('SIGTERM')
  })
}
