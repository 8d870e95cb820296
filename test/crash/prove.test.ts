// The verdict of `agent-relay prove` on a sound daemon, and on daemons with a planted fault: it names the broken promise, and why.

import { type PromiseName, type ProveSize, promiseNames, proveSizeDefault } from '@agent-relay/prove'
import { whyNoStrace } from '@agent-relay/prove/harness/strace'
import { test } from 'vitest'
import { newest } from '../../scripts/temporary-postgres.mjs'
import { guardMs } from '../guard.ts'
import { isFull } from '../size.ts'
import { type Fault, Variant } from './harness/variant.ts'

// In full there is a PostgreSQL too.
if (isFull) process.env.PATH = `${newest()}:${process.env.PATH}`

// At once: each has a copy and daemons of its own, and most of its time it waits for what does not come.
const { concurrent } = test

function planting(onTestFinished: (work: () => void) => void, fault?: Fault): Variant {
  const variant = new Variant(fault)
  onTestFinished(() => variant.remove())
  return variant
}

/** Where a fault is expected, nobody has to wait as long as on a machine that may be busy. */
const size: ProveSize = {
  ...proveSizeDefault,
  kills: { cycles: 3, drainMs: 5_000 },
  answers: 20,
  frames: { mutated: 500, msMax: 5_000, answerMs: 3_000 },
  restarts: 1,
  wakes: { questions: 20, wakeMs: 5_000 },
  prunes: { kills: 1 },
  restores: { backups: 1 },
  machines: { kills: 3 },
}
const stuckMs = guardMs
const timeout = 4 * guardMs

concurrent('a sound daemon breaks no promise', { timeout }, async ({ expect, onTestFinished }) => {
  const variant = planting(onTestFinished)
  if (isFull) {
    const { code, stdout, stderr } = await variant.run(['prove', '--json'])
    process.stdout.write(`prove: ${stdout}`)
    const { ok, promises } = JSON.parse(stdout)
    expect([code, ok, stderr]).toEqual([0, true, expect.stringContaining('10 of 10  shared-workspace')])
    expect(promises.map(({ name }: { name: string }) => name)).toEqual(promiseNames)
    return
  }
  // The others take longer, and have a short size in the other files here.
  const patient = { ...size, wakes: { questions: 20, wakeMs: guardMs } }
  const tried: PromiseName[] = ['restart', 'wake']
  const proofs = await variant.prove(tried, patient, stuckMs)
  process.stdout.write(`prove: ${JSON.stringify(proofs)}\n`)
  expect(proofs.map(({ name, holds, why }) => [name, holds, why])).toEqual(tried.map((name) => [name, true, undefined]))
})

interface Planted extends Fault {
  breaks: PromiseName
  why: RegExp
  /** Too long for the short size. */
  isLong?: boolean
}

/** True each so many times. */
const each = (times: number) => `(globalThis.planted = (globalThis.planted ?? 0) + 1) % ${times} === 0`
const dropped = (what: string): Pick<Planted, 'file' | 'piece' | 'instead'> => ({
  file: 'wires/connection.js',
  piece: 'if (!this.#isOver)\n            this.#carrier.write(',
  instead: `if (!this.#isOver && !(type === '${what}' && ${each(7)}))\n            this.#carrier.write(`,
})
/** A second after the answer. */
const lateCommit = `{
      const late = () => { this.isOpen_ = false; try { this.#database.exec('COMMIT') } catch {} }
      if (!this.isOpen_) { this.#database.exec('BEGIN IMMEDIATE'); setTimeout(late, 1_000) }
      this.isOpen_ = true
      result = work()
    }`
const commits = `result = this.#database.transact(() => {
                const done = work();
                end = this.#nextEnd();
                return done;
            });`
const early = { file: 'store/store.js', piece: commits, instead: lateCommit }
const isMessage = "entries.some(({ facts }) => facts.some(({ type }) => type === 'message.created'))"

const planted: Record<string, Planted> = {
  'an acknowledgement before the commit': { ...early, breaks: 'kill', why: /acknowledged, but not stored: from-\d/ },
  'a lost wake-up': {
    file: 'broker/hub.js',
    piece: 'tell(entries) {',
    instead: `tell(entries) { if (${isMessage} && ${each(5)}) return;`,
    breaks: 'wake',
    why: /question \d+ woke nobody/,
  },
  'a dropped frame of a delivery': { ...dropped('DELIVER'), breaks: 'wake', why: /question \d+ woke nobody/ },
  'an archive that lacks a message': {
    file: 'daemon/archive.js',
    piece: 'gone.map(archiveLineOf)',
    instead: 'gone.slice(1).map(archiveLineOf)',
    breaks: 'prune',
    why: /acknowledged, but not stored: from-\d/,
    isLong: true,
  },
  'a backup that lacks a message': {
    file: 'store/snapshot.js',
    piece: "database.prepare('VACUUM INTO ?').run(to);",
    instead: `database.prepare('VACUUM INTO ?').run(to);
            const lacking = new Database(to);
            lacking.exec('DELETE FROM messages WHERE seq = (SELECT min(seq) FROM messages)');
            lacking.close();`,
    breaks: 'restore',
    why: /backup 1: acknowledged, but not stored: from-\d/,
    isLong: true,
  },
  'a machine that changes a message on its way': {
    file: 'cluster/follower.js',
    piece: 'replica.apply(followed.entries);',
    instead: `replica.apply(followed.entries.map((each) => each.body?.startsWith('from-1 to-1 2 ') ? { ...each, body: 'from-1 to-1 1 ' } : each));`,
    breaks: 'shared-workspace',
    why: /the two machines have different messages/,
    isLong: true,
  },
  'a dropped frame of an answer': { ...dropped('ACK'), breaks: 'frames', why: /no answer within 3 s/, isLong: true },
}

concurrent.for(Object.entries(planted).filter(([, { isLong }]) => isFull || !isLong))(
  '%s is found',
  { timeout },
  async ([, fault], { expect, onTestFinished, skip }) => {
    const { breaks, why } = fault
    const variant = planting(onTestFinished, fault)
    const [proof] = await variant.prove([breaks], size, stuckMs)
    process.stdout.write(`prove: ${JSON.stringify(proof)}\n`)
    skip(proof?.holds === null, proof?.why)
    expect(proof).toMatchObject({ name: breaks, holds: false, why: expect.stringMatching(why) })
  },
)

concurrent(
  'the command says what is broken, and ends with 1',
  { timeout },
  async ({ expect, onTestFinished, skip }) => {
    const reason = whyNoStrace()
    skip(reason !== undefined, reason)
    const variant = planting(onTestFinished, early)
    const { code, stdout, stderr } = await variant.run(['prove', '--only', 'sync'])
    expect([code, stdout, stderr]).toEqual([
      1,
      expect.stringMatching(/^sync +broken /m),
      expect.stringMatching(/^sync is broken: c_\w+: .*\n0 of 1 promise held, 1 broken\.$/m),
    ])
  },
)
