// Hooks wait with approvals while the daemon is killed: each comes back and asks the same, a person's answer is handed over once,
// and nothing is answered by nobody.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connectClient } from '@agent-relay/prove/harness/clients'
import { environmentWithoutRelay, inTrial, sleep, type Trial, trialProject } from '@agent-relay/prove/harness/processes'
import type { Approval } from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { openPty } from '../../packages/relay/src/supervisor/pty.ts'
import { launcher, pipeLauncher } from '../../packages/relay/tests/cli/cli-world.ts'
import { guardMs } from '../guard.ts'
import { sized } from '../size.ts'
import { until } from '../until.ts'
import { seeded } from './harness/seeded.ts'

const kills = sized(2, 50)
const limits = { backoffMsMax: 100, callAwayMs: 2 * guardMs }

/** What a hook has said when it ended. */
interface Decision {
  behavior?: 'allow' | 'deny'
}

function startHook(scene: Trial, token: string, command: string): Promise<Decision> {
  const own = { RELAY_AGENT_NAME: 'Hooked', RELAY_AGENT_TOKEN: token, RELAY_SOCKET: scene.socketPath }
  const env = { ...environmentWithoutRelay(), RELAY_DATA_DIR: scene.dataDir, ...own }
  const child = spawn(process.execPath, [pipeLauncher, 'hook', 'PermissionRequest', '--cli', 'claude'], { env })
  scene.onDispose(() => child.kill('SIGKILL'))
  child.stdin.end(JSON.stringify({ tool_name: 'Bash', tool_input: { command }, cwd: '/' }))
  let stdout = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  return once(child, 'close').then(() => (stdout === '' ? {} : JSON.parse(stdout).hookSpecificOutput.decision))
}

/** A person at a terminal: true once the command has said so. */
async function answer(scene: Trial, ...args: string[]): Promise<boolean> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: scene.dataDir,
    RELAY_DATA_DIR: scene.dataDir,
    RELAY_PROJECT: trialProject,
  }
  const size = { cols: 100, rows: 30 }
  const terminal = await openPty({
    file: process.execPath,
    args: [launcher, ...args],
    cwd: scene.dataDir,
    env,
    ...size,
  })
  return new Promise((resolve) => terminal.onExit(({ code }) => resolve(code === 0)))
}

test(`hooks wait while the daemon is killed ${kills} times`, async () => {
  await inTrial({ relay: installedRelay }, async (scene) => {
    const random = seeded('approvals and kills')
    let daemon = await scene.startDaemon()
    const client = await connectClient(scene, 'Hooked', { limits })
    const open = async () => (await client.call('approval.list', {})).approvals
    const asked = async (command: string): Promise<Approval> => {
      await until(async () => (await open()).some(({ input }) => input === command))
      return (await open()).find(({ input }) => input === command) as Approval
    }
    const ways = { before: 0, during: 0, after: 0 }
    for (let n = 0; n < kills; n++) {
      const command = `touch ${n}`
      const decided = startHook(scene, client.token as string, command)
      const { id } = await asked(command)
      const verb = n % 3 === 0 ? 'deny' : 'approve'
      const way = (['before', 'during', 'after'] as const)[random.below(3)] as keyof typeof ways
      ways[way]++
      if (way === 'before') expect(await answer(scene, verb, id)).toBe(true)
      const during = way === 'during' ? answer(scene, verb, id) : undefined
      if (during) await sleep(random.below(400))
      // Every second time it stops as it is asked to.
      await daemon.end(n % 2 === 1 ? 'SIGTERM' : 'SIGKILL')
      daemon = await scene.startDaemon()
      await during
      // Still the same one, unless it was answered.
      const left = (await open()).find(({ input }) => input === command)
      expect([id, undefined]).toContain(left?.id)
      if (left) expect(await answer(scene, verb, id)).toBe(true)
      expect(await decided).toMatchObject({ behavior: verb === 'deny' ? 'deny' : 'allow' })
      expect(await answer(scene, 'approve', id)).toBe(false)
      const { events } = await client.call('event.list', { types: ['approval.*'], limit: 500, since: 0 })
      const own = events
        .map(({ fact }) => fact as { type: string; id: string; how?: string })
        .filter((fact) => fact.id === id)
      expect(own.map(({ how = 'opened' }) => how)).toEqual(['opened', 'answered'])
    }
    process.stdout.write(`approvals: ${JSON.stringify({ kills, ...ways })}\n`)
  })
})
