// Claude Code, Codex and opencode, each started by hand with our tools: every one writes to every other one by `relay_send`, and each message is
// in the model of its reader once, by one route.

import { appendFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { OwnWorld } from './own-world.ts'

/** How each stands in lists of agents, and what its terminal shows when it is ready. */
const seats = {
  claude: { agent: 'claude-code', ready: /\? for shortcuts|manual mode/, args: ['--permission-mode', 'default'] },
  codex: { agent: 'codex', ready: /fake-model default/, args: [] },
  opencode: { agent: 'opencode', ready: /ctrl\+p commands/, args: [] },
}
type Name = keyof typeof seats
const names = Object.keys(seats) as Name[]
const of = (name: Name) => clis.find((each) => each.name === name) as Cli
const installed = names.map((name) => [name, install(of(name))] as const)
const reason = installed.flatMap(([, each]) => ('reason' in each ? [each.reason] : []))[0]

const together: Cli = {
  ...of('claude'),
  prepare(place) {
    const env = Object.assign({}, ...names.map((name) => of(name).prepare(place)))
    appendFileSync(join(place.home, '.codex/config.toml'), `[projects."${place.work}"]\ntrust_level = "trusted"\n`)
    return env
  },
}
const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => [from, to] as const))
/** A question of the CLI whether the tool may be used. */
const isAsking = /Do you want to proceed|Press enter to confirm|Allow (?:the|once)|run the tool/i

describe.skipIf(reason)('all three started by hand, and configured by `mcp install --yes` alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'six-'))
  const terminals = new Map<Name, Awaited<ReturnType<OwnWorld['open']>>>()
  let world: OwnWorld
  beforeAll(async () => {
    for (const [name, each] of installed) if ('folder' in each) symlinkSync(join(each.folder, name), join(folder, name))
    world = await OwnWorld.start(together, folder)
    for (const name of names) {
      const { agent, ready, args } = seats[name]
      const terminal = await world.openAs(name, ...args)
      terminals.set(name, terminal)
      await terminal.shows(ready)
      await until(async () => (await world.reached(agent)) !== undefined)
      await terminal.enter('say hello')
      await until(async () => (await world.reached(agent)) === 'wakes')
    }
  }, 6 * guardMs)
  afterAll(async () => {
    await world?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** How often the newest request of this CLI has the text. */
  const told = (name: Name, text: string) => {
    const isIts = (body: object) => kindOf(body) === name
    const newest = world.asked.findLast(({ body, heard }) => (heard?.tools.length ?? 0) > 0 && isIts(body as object))
    return JSON.stringify(newest?.body ?? '').split(text).length - 1
  }

  test.each(pairs)('from %s to %s: once', async (from, to) => {
    const terminal = terminals.get(from)
    const text = `news for ${to}, by ${from}.`
    await until(async () => (await world.agent(seats[from].agent))?.doing?.state !== 'busy')
    await terminal?.enter(`use relay_send ${JSON.stringify({ to: seats[to].agent, message: text })}`)
    await until(async () => {
      if (told(to, text) > 0) return true
      if (isAsking.test((await terminal?.screen()) ?? '')) {
        await sleep(500)
        await terminal?.type('\r')
      }
      await sleep(500)
      return false
    })
    // Whoever would show it once more has done so by then.
    await sleep(3_000)
    expect(told(to, text)).toBe(1)
  })
})

/** By the protocol that it speaks with its model. */
function kindOf(body: object): Name {
  if ('input' in body) return 'codex'
  return 'system' in body ? 'claude' : 'opencode'
}
