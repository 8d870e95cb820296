// The cost of a true acknowledgement: the digest that tells a repeated call from another one under its id, and the looks at the written files, once for each
// commit. Both as shares of the least that one send can take.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inputDigest } from 'agent-relay/dist/store/call-digest.js'
import { ReplacedFilesCheck } from 'agent-relay/dist/store/replaced-files-check.js'
import { temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import type { Measure } from './table.ts'

const limit = 0.15
const rounds = 25
const perRound = 400

export function measureTruth(floorMs: number, bodyBytes: number, lagMs: number): Measure[] {
  const input = { to: 'Bob', body: 'x'.repeat(bodyBytes) }
  const paths = ['relay.db', 'relay.db-wal', 'relay.lock'].map((name) => join(temporaryFolder(), name))
  for (const path of paths) writeFileSync(path, '')
  const files = new ReplacedFilesCheck(paths, () => true)
  const looks = () => {
    files.findChanged()
    files.findChanged()
  }
  const digest = () => inputDigest('message.send', input)
  return [
    row(
      'digest of one send of 1 KB',
      digest,
      floorMs,
      lagMs,
      'once for each send whose id comes again, or that is not stored just as it was said',
    ),
    row('looks at the files of one commit', looks, floorMs, lagMs, 'three files, before and after each commit'),
  ]
}

function row(measure: string, work: () => unknown, floorMs: number, lagMs: number, note: string): Measure {
  const costMs = median(Array.from({ length: rounds }, () => timed(work)))
  const ratio = costMs / floorMs
  const value = `${(costMs * 1_000).toFixed(1)} µs`
  const floor = `${(floorMs * 1_000).toFixed(0)} µs`
  return { measure, value, floor, ratio, limit: `<= ${limit.toFixed(2)}`, isMet: ratio <= limit, lagMs, note }
}

function timed(work: () => unknown): number {
  const from = performance.now()
  for (let i = 0; i < perRound; i++) work()
  return (performance.now() - from) / perRound
}
