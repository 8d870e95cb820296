// The environment of a worker's program: the allowed part of the daemon's and its own token, and no secret in any argument or log.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectClient } from '@agent-relay/prove/harness/clients'
import { inTrial } from '@agent-relay/prove/harness/processes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { installedRelay } from '../../src/cli/own-relay.ts'
import { allowedEnvironment, workerEnvironment } from '../../src/supervisor/launching.ts'
import { scriptedAgent, WorkerWorld } from './worker-world.ts'

test('a worker gets only the environment variables on the list', () => {
  const env = {
    PATH: '/bin',
    HOME: '/h',
    LC_ALL: 'C',
    XDG_RUNTIME_DIR: '/run',
    HTTPS_PROXY: 'p',
    ANTHROPIC_API_KEY: 'model',
    NODE_EXTRA_CA_CERTS: '/ca',
    RELAY_WORKSPACE_KEY: 'rk',
    RELAY_AGENT_TOKEN: 'at',
    NODE_OPTIONS: '--require x',
    LD_PRELOAD: 'x',
    AWS_SECRET_ACCESS_KEY: 's',
    GITHUB_TOKEN: 's',
    SSH_AUTH_SOCK: 's',
    CLAUDECODE: '1',
    TERM: 'dumb',
  }
  const passed = [
    'ANTHROPIC_API_KEY',
    'HOME',
    'HTTPS_PROXY',
    'LC_ALL',
    'NODE_EXTRA_CA_CERTS',
    'PATH',
    'XDG_RUNTIME_DIR',
  ]
  expect(Object.keys(allowedEnvironment(env)).sort()).toEqual(passed)
  expect(workerEnvironment(env, { RELAY_WORKER: 'wk_1' }, { PATH: '/other' })).toMatchObject({
    ...{ TERM: 'xterm-256color', COLORTERM: 'truecolor', RELAY_WORKER: 'wk_1', PATH: '/other' },
  })
})

let world: WorkerWorld
const canary = 'canary-5f2c9d71'
const secret = {
  ...process.env,
  SOME_SECRET: canary,
  RELAY_WORKSPACE_KEY: canary,
  NODE_OPTIONS: '--no-warnings',
  LD_LIBRARY_PATH: `/${canary}`,
}
beforeAll(async () => {
  world = await WorkerWorld.start({ env: secret })
})
afterAll(() => world.stop())

test('a canary in the environment, the key and the token are nowhere but where they belong', async () => {
  await world.hire('Mia', { task: 'env call relay_who {}' })
  // It calls first and writes its environment then.
  await until(() => world.log('Mia').some(({ event }) => event === 'env'))
  expect(world.log('Mia').some(({ event }) => event === 'answered')).toBe(true)
  const { env } = world.log('Mia').find(({ event }) => event === 'env') as unknown as { env: Record<string, string> }
  expect(JSON.stringify(env)).not.toContain(canary)
  expect(env.NODE_OPTIONS).toBeUndefined()
  const relay = Object.keys(env).filter((name) => name.startsWith('RELAY_'))
  expect(relay.sort()).toEqual([
    ...[
      'RELAY_AGENT_NAME',
      'RELAY_AGENT_TOKEN',
      'RELAY_AGENT_TYPE',
      'RELAY_SOCKET',
      'RELAY_STRICT_AGENT_NAME',
      'RELAY_WORKER',
    ],
  ])
  const key = Object.values(JSON.parse(readFileSync(join(world.dataDir, 'credentials.json'), 'utf8')).workspaces)[0]
  expect(JSON.stringify(env)).not.toContain((key as { key: string }).key)
  const token = env.RELAY_AGENT_TOKEN as string
  expect(token).toMatch(/^at_/)
  for (const text of [token, canary, (key as { key: string }).key]) expect(inArguments(text)).toEqual([])
  // Its own alone, and no longer than its program.
  const { dispatch } = await world.daemon.open('home')
  expect(dispatch.workspace.credentials.agentOfToken(token)).toBe('Mia')
  await world.lead.call('worker.release', { name: 'Mia' })
  expect(dispatch.workspace.credentials.agentOfToken(token)).toBeUndefined()
})

test('no secret is in the log of a daemon', async () => {
  process.env.SOME_SECRET = canary
  try {
    await inTrial({ relay: installedRelay }, async (scene) => {
      const daemon = await scene.startDaemon()
      const lead = await connectClient(scene, 'Lead')
      const log = join(scene.dataDir, 'agent.log')
      const command = [process.execPath, scriptedAgent, '--log', log]
      await lead.call('worker.spawn', { name: 'Nan', cli: 'plain', command, task: 'env', cwd: '/' })
      // The whole line, with its end.
      await until(() => existsSync(log) && /"env".*\n/.test(readFileSync(log, 'utf8')))
      const token = /"RELAY_AGENT_TOKEN":"([\w-]+)"/.exec(readFileSync(log, 'utf8'))?.[1] as string
      expect(readFileSync(log, 'utf8')).not.toContain(canary)
      await lead.call('worker.release', { name: 'Nan' })
      await lead.disconnect()
      await daemon.end('SIGTERM')
      expect(daemon.errors).toBe('')
      for (const name of ['relay.db', 'relay.db-wal'].filter((each) =>
        readdirSync(join(scene.dataDir, 'projects', 'crash')).includes(each),
      ))
        expect(readFileSync(join(scene.dataDir, 'projects', 'crash', name)).includes(token)).toBe(false)
    })
  } finally {
    delete process.env.SOME_SECRET
  }
})

/** Processes in whose arguments a text stands. */
function inArguments(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        return false
      }
    })
}
