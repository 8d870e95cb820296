// A home directory of its own for tests of the installer, and the real launcher run in it. No tests.

import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InstallReport } from '../src/install/index.ts'

export const bin = fileURLToPath(new URL('../bin/agent-relay-mcp.cjs', import.meta.url))

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

export class Home {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'install-')))
  readonly path = join(this.root, 'home')
  readonly project = join(this.root, 'project')
  /** What entries and hooks start. */
  readonly launcher = join(this.root, 'data/bin/agent-relay-mcp')

  constructor() {
    mkdirSync(this.path)
    mkdirSync(this.project)
  }

  write(file: string, text = ''): string {
    const path = join(this.path, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  read(file: string): string {
    return readFileSync(join(this.path, file), 'utf8')
  }

  run(args: string[], { env = {}, uid }: { env?: Record<string, string>; uid?: number } = {}): Promise<Ran> {
    const child = spawn(uid === undefined ? process.execPath : this.#nodeForAll(), [bin, ...args], {
      cwd: this.project,
      env: { HOME: this.path, PATH: '/nowhere', RELAY_DATA_DIR: join(this.root, 'data'), ...env },
      ...(uid === undefined ? {} : { uid, gid: uid }),
    })
    const ran: Ran = { code: null, stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        ran[name] += text
      })
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve({ ...ran, code }))
    })
  }

  /** Node where any user may start it: the one that runs the tests may lie in a home directory that is closed to others. */
  #nodeForAll(): string {
    const node = join(this.root, 'node')
    cpSync(process.execPath, node)
    return node
  }

  async report(...args: string[]): Promise<InstallReport> {
    return JSON.parse((await this.run([...args, '--json'])).stdout)
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
