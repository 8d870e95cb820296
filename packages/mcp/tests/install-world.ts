// A home directory of its own for tests of the installer, and the real launcher run in it. No tests.

import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InstallReport } from '../src/install/index.ts'

export const bin = fileURLToPath(new URL('../bin/agent-relay-mcp.cjs', import.meta.url))

const packages = fileURLToPath(new URL('../../', import.meta.url))
/** What our packages load beside each other and Node. */
export const libraries = ['jsonc-parser', 'smol-toml', 'zod', 'ws']

export function libraryFolder(name: string): string {
  const roots = createRequire(import.meta.url).resolve.paths(name) ?? []
  return roots.map((root) => join(root, name)).find((path) => existsSync(join(path, 'package.json'))) as string
}

/** A folder for temporary files that every user may enter, from the root on; the one that the tests are told may lie in one that is closed. */
export function folderForAll(): string | undefined {
  const isOpen = (path: string): boolean =>
    (statSync(path).mode & 0o001) !== 0 && (path === dirname(path) || isOpen(dirname(path)))
  return [tmpdir(), '/tmp', '/var/tmp', '/dev/shm']
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path))
    .find(isOpen)
}

/** As a shell reads it: a path with a space stands in quotes. */
export const word = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

export class Home {
  readonly root: string
  readonly path: string
  readonly project: string
  /** What entries and hooks start. */
  readonly launcher: string

  constructor(folder = tmpdir()) {
    this.root = realpathSync(mkdtempSync(join(folder, 'install-')))
    this.path = join(this.root, 'home')
    this.project = join(this.root, 'project')
    this.launcher = join(this.root, 'data/bin/agent-relay-mcp')
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
    const [node, script] = uid === undefined ? [process.execPath, bin] : this.#copyForAll()
    const child = spawn(node, [script, ...args], {
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

  /** Node and our program where any user may start them: those that the tests use may lie in a directory that is closed to others. */
  #copyForAll(): [node: string, script: string] {
    const [node, modules] = [join(this.root, 'node'), join(this.root, 'node_modules')]
    cpSync(process.execPath, node)
    for (const name of ['sdk', 'mcp'])
      for (const part of ['bin', 'dist', 'package.json'].filter((part) => existsSync(join(packages, name, part))))
        cpSync(join(packages, name, part), join(modules, '@agent-relay', name, part), { recursive: true })
    for (const name of libraries) cpSync(libraryFolder(name), join(modules, name), { recursive: true })
    return [node, join(modules, '@agent-relay/mcp/bin/agent-relay-mcp.cjs')]
  }

  async report(...args: string[]): Promise<InstallReport> {
    return JSON.parse((await this.run([...args, '--json'])).stdout)
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
