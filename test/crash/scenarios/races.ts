// Many processes that want to be the daemon of one directory: one wins, the others know, and nobody touches the winner's socket.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { environmentWithoutRelay } from '@agent-relay/prove/harness/processes'
import { RawConnection } from '@agent-relay/prove/harness/raw'

export interface RaceReport {
  rounds: number
  racers: number
  takeovers: number
  slowestMs: number
  faults: string[]
}

interface Said {
  pid: number
  won?: boolean
  failed?: string
}

const racerPath = fileURLToPath(new URL('../harness/racer.mjs', import.meta.url))

/** In every round all race for a fresh directory; the winner is killed, and the rest race for what it left behind. */
export async function raceForOneDirectory(racers: number, rounds: number): Promise<RaceReport> {
  const report: RaceReport = { rounds, racers, takeovers: 0, slowestMs: 0, faults: [] }
  const all: Racer[] = []
  const directory = mkdtempSync(join(tmpdir(), 'relay-race-'))
  try {
    all.push(...Array.from({ length: racers }, () => new Racer()))
    await Promise.all(all.map((racer) => racer.next()))
    for (let round = 0; round < rounds; round++) await runRound(all, join(directory, String(round)), report)
  } finally {
    await Promise.all(all.map((racer) => racer.end()))
    rmSync(directory, { recursive: true, force: true })
  }
  return report
}

async function runRound(all: Racer[], dataDir: string, report: RaceReport): Promise<void> {
  const winner = await raceOnce(all, dataDir, report)
  if (!winner) return
  // All race again while the winner lives: its socket stays the same file, and answers.
  const socketPath = join(dataDir, 'control.sock')
  const before = statSync(socketPath).ino
  const others = all.filter((racer) => racer !== winner)
  const late = await Promise.all(others.map((racer) => racer.race(dataDir)))
  if (late.some(({ won }) => won !== false)) report.faults.push('someone won against a living daemon')
  if (statSync(socketPath).ino !== before) report.faults.push('the socket of a living daemon was replaced')
  await winner.end()
  const fresh = new Racer()
  await fresh.next()
  all.splice(all.indexOf(winner), 1, fresh)
  const heir = await raceOnce(all, dataDir, report)
  if (heir) report.takeovers++
  await heir?.ask({})
}

/** Starts all at once. Resolves with the winner, if there is exactly one and it answers on the socket. */
async function raceOnce(all: Racer[], dataDir: string, report: RaceReport): Promise<Racer | undefined> {
  const from = performance.now()
  const said = await Promise.all(all.map((racer) => racer.race(dataDir)))
  report.slowestMs = Math.max(report.slowestMs, performance.now() - from)
  for (const { failed } of said) if (failed !== undefined) report.faults.push(`a loser did not know why: ${failed}`)
  const winners = all.filter((_, i) => said[i]?.won)
  const [winner] = winners
  if (winners.length !== 1 || !winner) {
    report.faults.push(`${winners.length} winners`)
    return undefined
  }
  const control = await RawConnection.connectAs(join(dataDir, 'control.sock'))
  const { payload } = await control.call('daemon.status', {})
  await control.end()
  if (payload.pid !== winner.pid) report.faults.push(`${winner.pid} won, but ${payload.pid} answers`)
  const workspace = await RawConnection.connectAs(join(dataDir, 'projects', 'race', 'daemon.sock'), 'someone')
  await workspace.end()
  return winner
}

class Racer {
  readonly #child: ChildProcess
  readonly #said: Said[] = []
  readonly #ended: Promise<void>
  #heard: (() => void) | undefined

  constructor() {
    this.#child = spawn(process.execPath, [racerPath], {
      env: environmentWithoutRelay(),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()))
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.#said.push(JSON.parse(line))
      this.#heard?.()
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  race(dataDir: string): Promise<Said> {
    return this.ask({ race: dataDir })
  }

  /** To race for a directory, else to stop. */
  ask(what: { race?: string }): Promise<Said> {
    this.#child.stdin?.write(`${JSON.stringify(what)}\n`)
    return this.next()
  }

  async next(): Promise<Said> {
    while (this.#said.length === 0) {
      await Promise.race([new Promise<void>((resolve) => (this.#heard = resolve)), this.#ended])
      if (this.#said.length === 0 && this.#child.exitCode !== null) throw new Error(`racer ${this.pid} ended`)
    }
    return this.#said.shift() as Said
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}
