// Long reads share the event loop: none waits for another, old ones do not hold up new ones, and abandoned ones end.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LongReads, ReadTimeBudget, readSliceMs } from '../../src/broker/long-reads.ts'
import type { Steps } from '../../src/core/steps.ts'

const never = new AbortController().signal
/** No time passes but what a step takes: how busy the machine is changes nothing. */
let now = 0
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now))
afterEach(() => void vi.restoreAllMocks())
const spin = (ms: number) => {
  now += ms
}
const turn = () => new Promise(setImmediate)

function* steps(count: number, ms: number, onStep: () => void = () => {}): Steps<number> {
  for (let i = 0; i < count; i++) {
    spin(ms)
    onStep()
    yield
  }
  return count
}

const run = (reads: LongReads, work: Steps<number>, abandoned = never) =>
  reads.run(work, new ReadTimeBudget(), abandoned)

test('however many long reads run, they get one slice of time per turn of the event loop', async () => {
  const reads = new LongReads()
  let inTurn = 0
  const most: number[] = []
  const watching = { isOver: false }
  const watch = () => {
    most.push(inTurn)
    inTurn = 0
    if (!watching.isOver) setImmediate(watch)
  }
  setImmediate(watch)
  const all = Array.from({ length: 10 }, () =>
    run(
      reads,
      steps(40, 0.5, () => inTurn++),
    ),
  )
  expect(await Promise.all(all)).toEqual(Array(10).fill(40))
  watching.isOver = true
  // Half a millisecond each, and one that had begun.
  expect(Math.max(...most)).toBe(readSliceMs / 0.5 + 1)
  expect(reads.size).toBe(0)
})

test('a new read does not wait for long ones, and a long one is not stopped by new ones', async () => {
  const reads = new LongReads()
  const order: string[] = []
  let taken = 0
  const long = Array.from({ length: 5 }, () =>
    run(
      reads,
      steps(60, 0.5, () => taken++),
    ).then(() => order.push('long')),
  )
  while (taken < 20) await turn()
  for (let i = 0; i < 3; i++) order.push(`short ${await run(reads, steps(1, 0.1))}`)
  expect(order.slice(0, 3)).toEqual(['short 1', 'short 1', 'short 1'])
  let isOver = false
  // No more than some at a time: they would come faster than they end.
  const flood = () => {
    if (isOver) return
    if (reads.size < 50) void run(reads, steps(4, 0.5))
    setImmediate(flood)
  }
  flood()
  await Promise.all(long)
  isOver = true
  expect(reads.size).toBeGreaterThan(0)
})

test('a read that nobody waits for is not continued', async () => {
  const reads = new LongReads()
  const gone = new AbortController()
  let taken = 0
  const read = run(
    reads,
    steps(1_000, 1, () => taken++),
    gone.signal,
  )
  while (taken === 0) await turn()
  gone.abort()
  await expect(read).rejects.toMatchObject({ refusal: { code: 'call.abandoned' } })
  const then = taken
  expect(await run(reads, steps(20, 1))).toBe(20)
  expect(taken).toBe(then)
  expect(reads.size).toBe(0)
  await expect(run(reads, steps(1, 0), gone.signal)).rejects.toThrow()
})

test('a read that fails does not affect the others', async () => {
  const reads = new LongReads()
  function* broken(): Steps<number> {
    yield
    throw new Error('a damaged page')
  }
  const [failed, fine] = await Promise.allSettled([run(reads, broken()), run(reads, steps(3, 0))])
  expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'a damaged page' } })
  expect(fine).toEqual({ status: 'fulfilled', value: 3 })
})

test('a budget counts the time a read works, not the time it waits', async () => {
  const budget = new ReadTimeBudget(300)
  budget.start()
  spin(10)
  budget.stop()
  spin(350)
  expect(budget.isSpent).toBe(false)
  budget.start()
  spin(300)
  expect(budget.isSpent).toBe(true)
})

test('new reads with steps longer than the slice do not stop an old read', async () => {
  const reads = new LongReads()
  let hasEnded = false
  // Each new one queues up behind it once, so that its turns come ever later: the 20th after some 200 others.
  const old = run(reads, steps(20, 1)).finally(() => {
    hasEnded = true
  })
  // One more before each turn, as from thousands of callers.
  const flood = 600
  let came = 0
  const next = () => {
    if (hasEnded || came === flood) return
    came++
    void run(reads, steps(1, 5))
    setImmediate(next)
  }
  next()
  await old
  // It had its turns among them, and did not wait for the flood to end.
  expect(came).toBeLessThan(flood)
})
