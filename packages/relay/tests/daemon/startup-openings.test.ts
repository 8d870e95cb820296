// A daemon's start opens its workspaces one after another while its HTTP port already answers: who asks for one waits for that one alone.

import { expect, test } from 'vitest'
import { StartupOpenings } from '../../src/daemon/startup-openings.ts'

/** Openings that each end when the test says so. */
function gatedOpenings() {
  const opened = new Set<string>()
  const gates = new Map<string, (error?: Error) => void>()
  const troubles: string[] = []
  const startup = new StartupOpenings({
    open: (name) =>
      new Promise<void>((resolve, reject) => {
        gates.set(name, (error) => (error ? reject(error) : resolve(void opened.add(name))))
      }),
    cluster: { waitUntilBack: async () => true } as never,
    onTrouble: ({ message }) => troubles.push(message),
  })
  const find = (name: string) => startup.search(async () => (opened.has(name) ? name : undefined))
  const end = async (name: string, error?: Error) => {
    await expect.poll(() => gates.has(name)).toBe(true)
    gates.get(name)?.(error)
  }
  return { startup, find, end, troubles }
}

test('a search during the start ends when its workspace is open, and finds nothing once all were tried', async () => {
  const { startup, find, end, troubles } = gatedOpenings()
  startup.announce(['a', 'b', 'c', 'a'])
  const ends: string[] = []
  const searches = ['b', 'c', 'nobody'].map(async (name) => ends.push(`${name}: ${await find(name)}`))
  const all = startup.openAll()
  expect(startup.pendingNames).toEqual(['a', 'b', 'c'])
  await end('a', new Error('a is damaged'))
  await end('b')
  await expect.poll(() => ends).toEqual(['b: b'])
  expect(startup.untriedNames).toEqual(['c'])
  await end('c')
  await Promise.all([all, ...searches])
  expect(ends.toSorted()).toEqual(['b: b', 'c: c', 'nobody: undefined'])
  expect([await find('nobody'), await find('b'), troubles]).toEqual([undefined, 'b', ['a is damaged']])
})
