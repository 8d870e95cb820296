// relay_who and relay_status answer in every way in: with the key, with a token, with a name or none, on an open port, in every era.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { bearer, eras, HttpWorld } from './http-world.ts'

let shut: HttpWorld
let open: HttpWorld
beforeAll(async () => {
  shut = await HttpWorld.start()
  open = await HttpWorld.start({ isOpen: true })
})
afterAll(async () => {
  await Promise.all([shut.stop(), open.stop()])
})

const callers: [string, () => HttpWorld, (era: string) => Promise<Record<string, string>>][] = [
  ['the key', () => shut, async () => bearer(shut.key)],
  ['the key and a name', () => shut, async () => shut.as('Ada')],
  ['a token', () => shut, async (era) => bearer(await shut.token(`Bob-of-${era}`))],
  ['nothing, on an open port', () => open, async () => ({})],
  ['a name, on an open port', () => open, async () => ({ 'x-relay-agent': 'Cy' })],
  ['the key, on an open port', () => open, async () => bearer(open.key)],
]

test.each(callers.flatMap((caller) => eras.map((era) => [era, ...caller] as const)))(
  '%s with %s',
  async (era, _, world, headers) => {
    const client = await world().client(era, await headers(era))
    for (const [name, text] of [
      ['relay_who', /agent\(s\) online:|No agents online\./],
      ['relay_status', /^Relay Status:\n- Connected: Yes\n- Agent Name: \S/],
    ] as const) {
      const { content, isError } = await client.callTool({ name, arguments: {} })
      expect([name, isError ?? false]).toEqual([name, false])
      expect((content as { text: string }[])[0]?.text).toMatch(text)
    }
  },
)
