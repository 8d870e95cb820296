// The end file's part of a commit: the same commits in two databases, of which one has a folder in the place of its end file and so goes without.

import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fact } from '@agent-relay/sdk/protocol'
import { journalEndPath } from 'agent-relay/dist/store/journal-end.js'
import { Store } from 'agent-relay/dist/store/store.js'
import { temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { against, type Measure } from './table.ts'

const body = 'x'.repeat(1024)

export async function measureEndFile({ rounds, commits }: { rounds: number; commits: number }): Promise<Measure[]> {
  const folder = temporaryFolder()
  const path = join(folder, 'with.db')
  mkdirSync(journalEndPath(join(folder, 'without.db')))
  const stores = { with: new Writer(path), without: new Writer(join(folder, 'without.db')) }
  const rows: Measure[] = []
  for (const sends of [1, 64]) {
    const found: { with: number; without: number }[] = []
    for (let i = 0; i <= rounds; i++)
      found.push({ with: stores.with.commit(commits, sends), without: stores.without.commit(commits, sends) })
    // The first is for the compiler.
    const measured = found.slice(1)
    const value = median(measured.map((each) => each.with))
    const floor = median(measured.map((each) => each.without))
    const before = stores.with.writes
    stores.with.commit(commits, sends)
    const note = `${stores.with.writes - before} writes of the end file for ${commits} commits`
    const times = sends === 1 ? 'one send' : `${sends} sends`
    rows.push(
      against(`a commit of ${times}, with the end file`, {
        value,
        floor,
        unit: 'ms',
        max: sends === 1 ? 1.5 : 1.25,
        note,
      }),
    )
  }
  for (const store of Object.values(stores)) store.close()
  return rows
}

class Writer {
  readonly #path: string
  readonly #store: Store
  #count = 0

  constructor(path: string) {
    this.#path = path
    this.#store = new Store(path)
    const began = { type: 'workspace.began', id: 'w_bench', keyHash: 'h' } as const
    this.#store.transact(() => this.#append([began, { type: 'channel.created', channel: '#general' }]))
  }

  /** Milliseconds of one commit, the median of these. */
  commit(commits: number, sends: number): number {
    const times: number[] = []
    for (let i = 0; i < commits; i++) {
      const from = performance.now()
      this.#store.transact(() => {
        for (let n = 0; n < sends; n++) this.#send()
      })
      times.push(performance.now() - from)
    }
    return median(times)
  }

  /** Each write has the next number. */
  get writes(): number {
    const text = readFileSync(journalEndPath(this.#path), 'latin1')
    return Math.max(...[0, text.lastIndexOf('[')].map((from) => Number(/^\[1,(\d+),/.exec(text.slice(from))?.[1])))
  }

  close(): void {
    this.#store.close()
  }

  #send(): void {
    const n = ++this.#count
    const place = { conversation: '#general', n, from: 'ada', kind: 'free' } as const
    this.#append([{ type: 'message.created', id: `m${n}`, ...place }], body)
  }

  #append(facts: Fact[], text?: string): void {
    const given = { at: Date.now(), by: 'ada', cause: `c${this.#count}`, rule: 'message.send', outcome: {} }
    this.#store.append({ ...given, facts, body: text })
  }
}
