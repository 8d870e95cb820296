// Eight agents edit forty files at random under claims, while the daemon is killed: no file holds interleaved edits, every denial was true when
// it was given, claims survive, and every agent gets on. A first test shows that the auditor finds planted faults.

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectClient } from '@agent-relay/prove/harness/clients'
import { inTrial, sleep } from '@agent-relay/prove/harness/processes'
import type { Random } from '@agent-relay/prove/harness/random'
import type { RelayClient } from '@agent-relay/sdk'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { git } from '../../packages/relay/tests/work/repository-world.ts'
import { guardMs } from '../guard.ts'
import { sized } from '../size.ts'
import { ClaimAudit, interleaved } from './harness/claim-audit.ts'
import { seeded } from './harness/seeded.ts'

const [agents, files] = [8, 40]
const [runMs, betweenMs] = [sized(4_000, 60_000), { min: 500, max: 3_500 }]
/** A daemon that lives for a moment is only reached by clients that reconnect at once, and on a busy machine it takes its time to come back. */
const limits = { backoffMsMax: 100, callAwayMs: 2 * guardMs }
/** What one agent has in hand all the time. */
const keptFile = 'kept.txt'

test('the auditor finds interleaved edits', () => {
  expect(interleaved('a 1\na 1\nb 1\na 2\n')).toEqual([])
  expect(interleaved('a 1\nb 1\na 1\nb 1\n')).toEqual(['a 1', 'b 1'])
})

const isFree = { isDenied: false, met: [] }
const isDenied = (holder: string, file = 'f', text = `${holder} is editing it`) => {
  return { isDenied: true, text, met: [{ agent: holder, file }] }
}
test.each<[string, number, (audit: ClaimAudit) => void]>([
  ['for its holder', 0, (audit) => audit.asks('Bob', 'f')(isDenied('Ann'))],
  ['of another file, which nobody has', 1, (audit) => audit.asks('Bob', 'g')(isDenied('Ann', 'g'))],
  ['for somebody who never asked', 1, (audit) => audit.asks('Bob', 'f')(isDenied('Cy'))],
  ['that means another file', 1, (audit) => audit.asks('Bob', 'f')(isDenied('Ann', 'g'))],
  ['for itself', 1, (audit) => audit.asks('Ann', 'f')(isDenied('Ann'))],
  ['in no words', 2, (audit) => audit.asks('Bob', 'f')(isDenied('Ann', 'f', ''))],
  [
    'for one who let it go',
    1,
    (audit) => {
      audit.drops('Ann', 'f')
      audit.asks('Bob', 'f')(isDenied('Ann'))
    },
  ],
  [
    'for one who asked later and was answered before',
    0,
    (audit) => {
      const answered = audit.asks('Bob', 'f')
      audit.asks('Cy', 'f')(isFree)
      answered(isDenied('Cy'))
    },
  ],
])('of a file that Ann holds, the auditor judges a denial %s: faults %i', (_, faults, plant) => {
  const audit = new ClaimAudit()
  audit.asks('Ann', 'f')(isFree)
  plant(audit)
  expect(audit.faults).toHaveLength(faults)
})

class Editor {
  bursts = 0
  denials = 0
  readonly #client: RelayClient
  readonly #cwd: string
  readonly #random: Random

  constructor(client: RelayClient, cwd: string, random: Random) {
    this.#client = client
    this.#cwd = cwd
    this.#random = random
  }

  async work(names: readonly string[], audit: ClaimAudit, isOver: () => boolean): Promise<void> {
    const agent = this.#client.agentName as string
    for (let burst = 0; !isOver(); burst++) {
      const file = names[this.#random.below(names.length)] as string
      const lines = 1 + this.#random.below(5)
      let written = 0
      while (written < lines && (await this.#mayEdit(agent, file, audit))) {
        appendFileSync(join(this.#cwd, file), `${agent} ${burst}\n`)
        written++
        await sleep(this.#random.below(20))
      }
      if (written === 0) continue
      this.bursts++
      // It may have been lost, where its last edit was denied because the daemon had forgotten an agent that was alone for a moment.
      await this.#client.call('claim.drop', { cwd: this.#cwd, files: [file] }).catch(() => {})
      audit.drops(agent, file)
    }
  }

  async #mayEdit(agent: string, file: string, audit: ClaimAudit): Promise<boolean> {
    const answered = audit.asks(agent, file)
    const may = answered(await this.#client.call('claim.edit', { cwd: this.#cwd, files: [file] }))
    if (!may) this.denials++
    return may
  }
}

test(`${agents} agents edit ${files} files for ${runMs / 1_000} s, and the daemon is killed`, async () => {
  await inTrial({ relay: installedRelay }, async (scene) => {
    const random = seeded('eight agents, forty files')
    const cwd = mkdtempSync(join(tmpdir(), 'relay-checkout-'))
    scene.onDispose(() => rmSync(cwd, { recursive: true, force: true }))
    git(cwd, 'init', '-q')
    const names = Array.from({ length: files }, (_, n) => `file-${n}.txt`)
    for (const file of names) appendFileSync(join(cwd, file), '')
    let daemon = await scene.startDaemon()
    const clients: RelayClient[] = []
    for (let n = 0; n < agents; n++) clients.push(await connectClient(scene, `editor-${n}`, { limits }))
    const keeper = await connectClient(scene, 'keeper', { limits })
    const kept = async () => (await keeper.call('claim.list', {})).claims.find(({ file }) => file === keptFile)
    await keeper.call('claim.edit', { cwd, files: [keptFile] })
    const held = await kept()
    const audit = new ClaimAudit()
    const editors = clients.map((client) => new Editor(client, cwd, random))
    const end = performance.now() + runMs
    const isOver = () => performance.now() > end && editors.every(({ bursts }) => bursts > 0)
    const work = Promise.all(editors.map((editor) => editor.work(names, audit, isOver)))
    let kills = 0
    do {
      await sleep(betweenMs.min + random.below(betweenMs.max - betweenMs.min))
      await daemon.end('SIGKILL')
      daemon = await scene.startDaemon()
      kills++
      expect(await kept()).toEqual(held)
    } while (performance.now() < end)
    await work
    const figures = { kills, bursts: editors.map(({ bursts }) => bursts), denials: editors.map((each) => each.denials) }
    process.stdout.write(`claims: ${JSON.stringify(figures)}\n`)
    expect(held?.agent).toBe('keeper')
    expect(audit.faults).toEqual([])
    for (const file of names) expect(interleaved(readFileSync(join(cwd, file), 'utf8'))).toEqual([])
  })
})
