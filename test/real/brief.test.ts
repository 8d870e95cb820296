// A real CLI whose memory is cut: its model's next request holds the brief once.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { until } from '../until.ts'
import { type Cli, clis, hosts, trusting } from './clis.ts'
import { install } from './installing.ts'
import { OwnWorld } from './own-world.ts'
import { pipeLauncher, RealWorld } from './world.ts'

const name = 'Worker'

interface Cut {
  cli: string
  typed: string
  after: string
  args?: string[]
}
/** What each CLI is typed to cut its model's memory. Codex gets its hooks from a file, as `mcp install --hooks` writes it. */
const cuts: Cut[] = [
  { cli: 'claude', typed: '/compact', after: 'compact' },
  { cli: 'claude', typed: '/clear', after: 'clear' },
  { cli: 'codex', typed: '/compact', after: 'compact', args: ['--dangerously-bypass-hook-trust'] },
]

for (const cut of cuts) {
  test(`${cut.cli}, ${cut.typed}`, async ({ skip }) => {
    const cli = hooked(clis.find((each) => each.name === cut.cli) as Cli)
    const installed = install(cli)
    if ('reason' in installed) return skip(installed.reason)
    const world = await RealWorld.start(cli, installed.folder)
    try {
      await cutMemory(world, cut)
    } catch (error) {
      throw new Error(`${error}\n${world.story()}`)
    } finally {
      await world.close()
    }
  })
}

function hooked(cli: Cli): Cli {
  if (cli.name !== 'codex') return cli
  const command = `'${process.execPath}' '${pipeLauncher}' hook SessionStart --cli codex`
  return {
    ...cli,
    prepare(place) {
      const env = cli.prepare(place)
      const hooks = { SessionStart: [{ hooks: [{ type: 'command', command, timeout: 5 }] }] }
      writeFileSync(join(place.home, '.codex/hooks.json'), JSON.stringify({ hooks }))
      return env
    },
  }
}

async function cutMemory(world: RealWorld, { cli, typed, after, args }: Cut): Promise<void> {
  const task = 'Fix the failing parser test'
  await world.hire({ name, cli, task, args })
  const isIdle = async () => (await world.worker(name))?.status === 'idle'
  await until(() => world.asked.some(({ heard }) => heard?.text.includes(task)))
  await until(isIdle)
  await world.types(name, typed)
  await sleep(1_000)
  await world.types(name, '\r')
  // Codex runs its hook only when the next turn begins.
  const isBriefed = until(async () => (await world.briefs()).length === 1).catch(() => {})
  await Promise.race([isBriefed, sleep(5_000)])
  const asked = world.asked.length
  await until(isIdle)
  await world.send(name, 'Go on, please.')
  const next = () => world.asked.slice(asked).find(({ heard }) => heard?.text.includes('Go on, please.'))
  await until(() => next() !== undefined)
  const request = JSON.stringify(next()?.body)
  const [brief] = await world.briefs()
  expect(brief).toMatchObject({ agent: name, after })
  expect(brief?.text).toMatch(
    /^Relay brief: you are Worker, hired by Peer \d+ \w+ ago: "Fix the failing parser test"\.$/,
  )
  expect(request.split(JSON.stringify(brief?.text).slice(1, -1))).toHaveLength(2)
  expect(request.split('Go on, please.')).toHaveLength(2)
}

interface OwnCut {
  cli: string
  agent: string
  /** What the screen shows once it is ready for a prompt. */
  ready: RegExp
  args?: string[]
  /** What the person types, and what shows that it is done. */
  typed?: { text: string; done: RegExp }
  /** The person ends the session and starts it again with these. */
  again?: string[]
  /** It is cut during the next turn, and the model told at the one after it. */
  isLate?: true
}
/** Sessions that a person started. The brief comes with the person's next prompt or with the message that wakes the session, whichever is first. */
const ownCuts: OwnCut[] = [
  {
    cli: 'claude',
    agent: 'claude-code',
    ready: /manual mode/,
    args: ['--permission-mode', 'default'],
    typed: { text: '/compact', done: /Compacted/ },
  },
  {
    cli: 'claude',
    agent: 'claude-code',
    ready: /manual mode/,
    args: ['--permission-mode', 'default'],
    again: ['--permission-mode', 'default', '-c'],
  },
  {
    cli: 'codex',
    agent: 'codex',
    ready: /fake-model default/,
    typed: { text: '/compact', done: /Context compacted/ },
  },
  {
    cli: 'opencode',
    agent: 'opencode',
    ready: /ctrl\+p commands/,
    typed: { text: '/compact', done: /Compaction/ },
  },
  {
    cli: 'gemini',
    agent: 'gemini-cli',
    ready: /Type your message/,
    args: ['--skip-trust'],
    typed: { text: '/compress', done: /compress/i },
  },
  {
    cli: 'gemini',
    agent: 'gemini-cli',
    ready: /Type your message/,
    args: ['--skip-trust'],
    typed: { text: 'say much', done: /ACK[\s\S]*ACK/ },
    isLate: true,
  },
  { cli: 'copilot', agent: 'copilot-cli', ready: /\/ commands/, again: ['--continue'] },
]

for (const { cli, agent, ready, args = [], typed, again, isLate } of ownCuts) {
  const how = typed?.text ?? again?.join(' ')
  test(`${cli}, started by hand and configured by \`mcp install --yes\` alone, ${how}`, async ({ skip }) => {
    const known = hosts.find((each) => each.name === cli) as Cli
    const installed = install(known)
    if ('reason' in installed) return skip(installed.reason)
    const world = await OwnWorld.start(trusting(known), installed.folder)
    /** How often the model was told, in the request that shows it this. The scripted model's own answers repeat the end of what it was shown. */
    const told = (text: string) => {
      const shown = JSON.stringify(world.seen(text)?.body).replace(/ACK [^"\\]*/g, '')
      return shown.split(/Relay brief: you are [\w-]+\./).length - 1
    }
    const isThere = () => until(async () => (await world.reached(agent)) !== undefined)
    let terminal = await world.open(...args)
    try {
      await isThere()
      await terminal.shows(ready)
      await terminal.enter('say hello')
      await until(() => world.seen('say hello') !== undefined)
      await sleep(3_000)
      if (typed) {
        await terminal.enter(typed.text)
        await terminal.shows(typed.done)
        await sleep(3_000)
      } else {
        for (let i = 0; i < 2; i++) await terminal.type('\x03')
        await until(async () => (await world.reached(agent)) === undefined)
        terminal = await world.open(...(again ?? []))
        await isThere()
        await terminal.shows(ready)
      }
      if (cli === 'codex') await world.sendAndSee(agent, 'say more')
      else await terminal.enter('say more')
      await until(() => world.seen('say more') !== undefined)
      expect(told('say more')).toBe(isLate ? 0 : 1)
      await sleep(2_000)
      await terminal.enter('say the last')
      await until(() => world.seen('say the last') !== undefined)
      expect(told('say the last')).toBe(1)
    } catch (error) {
      throw new Error(`${error}\n${await terminal.screen()}`)
    } finally {
      await world.close()
    }
  })
}
