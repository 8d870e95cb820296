// A built Agent Relay with one planted fault: a copy of the build in which one piece of one file is another. No tests.

import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PromiseName, type Proof, type ProveSize, prove } from '@agent-relay/prove'
import { environmentWithoutRelay } from '@agent-relay/prove/harness/processes'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'

export interface Fault {
  /** Below dist/. */
  file: string
  piece: string
  instead: string
}

const root = fileURLToPath(new URL('../../../', import.meta.url))

export class Variant {
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-variant-'))

  /** Without a fault: a copy that is like what was built. */
  constructor(fault?: Fault) {
    const isWanted = (path: string) => !/\.map$|\.d\.ts$|\/dist\/page(?:\/|$)/.test(path)
    for (const name of ['package.json', 'bin', 'dist'])
      cpSync(join(root, 'packages/relay', name), join(this.#folder, name), { recursive: true, filter: isWanted })
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'))
    if (!fault) return
    // The joined files hold the same code once more, and would be loaded instead.
    rmSync(join(this.#folder, 'dist/joined'), { recursive: true })
    const path = join(this.#folder, 'dist', fault.file)
    const parts = readFileSync(path, 'utf8').split(fault.piece)
    if (parts.length !== 2) throw new Error(`${fault.file} has ${parts.length - 1} times: ${fault.piece}`)
    writeFileSync(path, parts.join(fault.instead))
  }

  /** As the command does it, in a size of the test's own. */
  prove(only: PromiseName[], size: ProveSize, stuckMs: number): Promise<Proof[]> {
    return prove({ relay: { ...installedRelay, launcher: this.#launcher }, only, size, stuckMs })
  }

  /** The command itself. */
  run(args: string[]): Promise<Ran> {
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [this.#launcher, ...args],
        { env: environmentWithoutRelay() },
        (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
      )
    })
  }

  get #launcher(): string {
    return join(this.#folder, 'bin/agent-relay.cjs')
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

interface Ran {
  code: number
  stdout: string
  stderr: string
}
