// The command line, which also reports the size of V8's heap: the young generation as it stands or after work that fills it, and
// the part of a heap that is left once most of each page's content is gone.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'

const megabytes = (pattern, of) =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => pattern.test(name))
    .reduce((sum, space) => sum + space[of], 0) /
  1024 /
  1024

const asks = {
  size: () => megabytes(/^new_space/, 'space_size'),
  /** Asked seldom: a process that answers all the time is not idle. */
  async light() {
    while (asks.size() > 2) await sleep(250)
    return asks.size()
  },
  async work() {
    const kept = []
    for (let turn = 0; turn < 300; turn++) {
      for (let i = 0; i < 10_000; i++) kept.push({ i })
      await nextTurn()
    }
    return megabytes(/^new_space/, 'space_size')
  },
  async waste() {
    let kept = []
    for (let turn = 0; turn < 300; turn++) {
      for (let i = 0; i < 2_000; i++) kept.push({ i, parts: [i, String(i), { i }] })
      await nextTurn()
    }
    // Some in every page.
    kept = kept.filter((_, i) => i % 10 === 0)
    const most = process.memoryUsage().heapTotal
    while (process.memoryUsage().heapTotal > most / 2) await sleep(500)
    return (process.memoryUsage().heapTotal / most) * (kept.length > 0 ? 1 : 0)
  },
}

process.on('message', async (ask) => process.send(await asks[ask]()))
process.on('disconnect', () => process.exit(1))
process.argv.splice(1, 1, 'agent-relay')
await import('../../bin/agent-relay.cjs')
