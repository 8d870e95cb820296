// Work that a hostile party could make long: texts that are cleaned for a model, and paths that are looked for. A text against
// as many bytes of short ones: work that grows faster than its length costs more as a whole.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import { placeInCheckout } from 'agent-relay/dist/machine/checkout.js'
import { temporaryFolder } from './child.ts'
import { against, type Compared, type Measure } from './table.ts'

const bytes = 256 * 1024
const pieces = [
  '\u200b',
  '\u0090',
  '\u001b]',
  '<',
  '<system-',
  '<system ',
  '<a-',
  'क्‍ष',
  '👩‍👩‍👧',
  '中',
  '\r',
  '\n',
  '\ud800',
]
/** Each of about so many bytes. */
const hostile = [
  ...pieces.map((piece) => (size: number) => piece.repeat(size / Buffer.byteLength(piece))),
  (size: number) => `\u001b[${'0'.repeat(size)}`,
  (size: number) => `<${' '.repeat(size)}`,
  (size: number) => `<system${' -'.repeat(size / 2)}`,
]
const parts = 16
const paths = 100

export async function measureTexts(rounds: number): Promise<Measure[]> {
  const inject = (body: string) =>
    injectionText([{ id: 'm_01abcdefghjkmnpqrstvwxyz01', from: 'Alice', body }], { toolPrefix: 'mcp__agent-relay__' })
  const repository = temporaryFolder()
  mkdirSync(join(repository, '.git'))
  const look = (path: string) => () => {
    for (let i = 0; i < paths; i++) placeInCheckout(repository, `${path}${i}`)
  }
  return [
    slowest('a hostile text of 256 KB cleaned for a model', cleanForModel, rounds, 4),
    slowest('a hostile message of 256 KB shown to a model', inject, rounds, 4),
    against('a path of 2,000 parts looked for', {
      ...{ value: leastMs(look('a/'.repeat(2_000)), rounds), floor: leastMs(look('a/'.repeat(10)), rounds) },
      ...{ unit: 'ms', max: 20 },
    }),
  ]
}

/** The text that comes off worst. */
function slowest(measure: string, work: (text: string) => unknown, rounds: number, max: number): Measure {
  const all = hostile.map((make) => {
    const [whole, part] = [make(bytes), make(bytes / parts)]
    const inParts = () => {
      for (let i = 0; i < parts; i++) work(part)
    }
    const [value, floor] = [leastMs(() => work(whole), rounds), leastMs(inParts, rounds)]
    return { value, floor, unit: 'ms', max }
  })
  return against(measure, all.sort((a, b) => b.value / b.floor - a.value / a.floor)[0] as Compared)
}

/** What else the machine does only makes it longer. */
function leastMs(work: () => unknown, rounds: number): number {
  const took = Array.from({ length: rounds }, () => {
    const from = performance.now()
    work()
    return performance.now() - from
  })
  return Math.min(...took)
}
