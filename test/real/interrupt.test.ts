// A turn that is interrupted, with each real CLI as a worker: it ends, the worker stays, and the next message begins a new turn.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { RealWorld } from './world.ts'

const name = 'Worker'
/** How each is made to ask for a permission, where a model of ours can make it. */
const asks: Record<string, string> = {
  claude: 'use Bash {"command":"touch made","description":"make it"}',
  opencode: 'use bash {"command":"touch made","description":"make it"}',
  codex: 'use exec_command {"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"need it"}',
  gemini: 'use run_shell_command {"command":"touch made"}',
}
/** Without it Claude Code decides by itself. */
const args: Record<string, string[]> = { claude: ['--permission-mode', 'default'] }

/** opencode asks nobody unless its settings say so. */
function asking(cli: Cli): Cli {
  if (cli.name !== 'opencode') return cli
  return {
    ...cli,
    prepare(place) {
      const env = cli.prepare(place)
      const file = join(place.home, '.config/opencode/opencode.json')
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), permission: { bash: 'ask' } }))
      return env
    },
  }
}

describe.each(clis.map(asking))('$name', (cli) => {
  const installed = install(cli)
  const reason = 'reason' in installed ? installed.reason : undefined
  const folder = 'folder' in installed ? installed.folder : ''
  let world: RealWorld
  const is = (status: string) => until(async () => (await world.worker(name))?.status === status)
  const heard = (text: string) => world.asked.some((asked) => asked.heard?.text.includes(text))

  beforeAll(async () => {
    if (reason !== undefined) return
    world = await RealWorld.start(cli, folder, { hasLead: false })
    await world.hire({ name, cli: cli.name, task: 'Say hello.', args: args[cli.name] })
    await until(() => heard('Say hello.'))
    await is('idle')
  }, 4 * guardMs)
  afterAll(() => world?.close())

  test.skipIf(reason)('while its model speaks', async () => {
    await expect(world.interrupt(name)).rejects.toMatchObject({ code: 'worker.no-turn' })
    await world.send(name, 'slow 20')
    await until(() => heard('slow 20'))
    await is('busy')
    expect(await world.interrupt(name)).toBeUndefined()
    await is('idle')
    // Some take the words of the first along, so that the model speaks for as long again.
    await world.send(name, 'after the first')
    await until(() => heard('after the first'))
    await is('idle')
  })

  test.skipIf(reason ?? asks[cli.name] === undefined)('while it asks', async () => {
    await world.send(name, asks[cli.name] as string)
    await is('blocked')
    await until(async () => (await world.openApprovals()) === 1)
    expect(await world.interrupt(name)).toBeUndefined()
    await until(async () => (await world.openApprovals()) === 0)
    await is('idle')
    await world.send(name, 'after the second')
    await until(() => heard('after the second'))
  })
})
