// Workers whose daemon was killed go on with the conversation that they had: their models are shown again what was said before.

import { expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { clis } from './clis.ts'
import { install } from './installing.ts'
import { RealWorld } from './world.ts'

const name = 'Digger'

/** Whether its programs can open an earlier conversation again. */
const known: Record<string, boolean> = { claude: true, codex: true, opencode: true, gemini: false }

test.each(clis.filter(({ name }) => name in known))('$name', { timeout: 6 * guardMs }, async (cli) => {
  const installed = install(cli)
  if ('reason' in installed) throw new Error(installed.reason)
  const world = await RealWorld.start(cli, installed.folder, { hasLead: false })
  const isShown = (text: string) => world.asked.some(({ body }) => JSON.stringify(body).includes(text))
  const is = (status: string) => until(async () => (await world.worker(name))?.status === status)
  try {
    await world.hire({ name, cli: cli.name as never, task: 'Say heron.' })
    await until(() => isShown('Say heron.'))
    await is('idle')
    await world.send(name, 'Say magpie.')
    await until(() => isShown('Say magpie.'))
    await is('idle')
    await world.restart()
    await is('exited')
    if (!known[cli.name]) {
      await expect(world.goOn(name)).rejects.toThrow('has reported no conversation that it could open again')
      return
    }
    await world.goOn(name)
    await until(() => isShown('goes on with this conversation'))
    const bodies = world.asked.map(({ body }) => JSON.stringify(body))
    expect(bodies.findLast((body) => body.includes('goes on with this conversation'))).toContain('Say magpie.')
    await is('idle')
    // And once more, as itself.
    await world.restart()
    await is('exited')
    await world.goOn(name)
    await until(() => world.asked.filter(({ heard }) => heard?.text.includes('goes on with this')).length >= 2)
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${world.story()}`)
  } finally {
    await world.close()
  }
})
