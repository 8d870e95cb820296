// The packages as a user gets them: packed and installed into an empty directory, by the very scripts that make the cloud image. No tests.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const deploy = fileURLToPath(new URL('../../deploy/workspace/', import.meta.url))

export class Prefix {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'packed-')))
  readonly modules = join(this.root, 'prefix/node_modules')
  readonly home = this.directory('home')
  readonly #children = new Set<ChildProcess>()

  static async install(): Promise<Prefix> {
    const prefix = new Prefix()
    const packages = join(prefix.root, 'packages')
    await run('sh', [join(deploy, 'pack.sh'), packages])
    await run('sh', [join(deploy, 'install.sh'), packages, join(prefix.root, 'prefix')], { cwd: prefix.root })
    return prefix
  }

  directory(name: string): string {
    const path = join(this.root, name)
    mkdirSync(path, { recursive: true })
    return path
  }

  env(more: Record<string, string> = {}): Record<string, string> {
    const PATH = `${join(this.modules, '.bin')}:${process.env.PATH}`
    return { PATH, HOME: this.home, TMPDIR: this.root, RELAY_PORT: '0', ...more }
  }

  /** Runs a command of the installation to its end. */
  async run(command: string, args: string[], cwd: string, more?: Record<string, string>): Promise<string> {
    return (await run(command, args, { cwd, env: this.env(more) })).stdout
  }

  /** Starts one that goes on; resolves when it says what is waited for. */
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
    return sizeOf(this.modules)
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
