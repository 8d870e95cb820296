// A workspace of this machine never gets the name of a shared one without a question, in every way to make one, and also while the cluster does
// not answer. Real daemons, real PostgreSQL, the real command line.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { spawn as spawnPty } from '@lydell/node-pty'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { launcher, World } from '../cli/cli-world.ts'
import { PostgresServer } from './postgres-server.ts'

const [laptop, box] = [new World(), new World()]
let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.start()
  const world = await server.cluster('relay')
  for (const [name, machine] of Object.entries({ laptop, box })) {
    machine.directory('data')
    new ClusterFile(machine.dataDir).write({ ...(await world.join(name)), machine: name } as ClusterMembership)
  }
  await laptop.serve()
  await laptop.run(['workspace', 'create', 'team'])
  await laptop.run(['workspace', 'share', 'team'])
  await laptop.run(['workspace', 'create', 'late'])
  await laptop.run(['send', '#general', 'hello', '--project', 'late'])
  await laptop.run(['workspace', 'export', '--project', 'late', '--to', join(box.root, 'old.jsonl')])
  await laptop.run(['workspace', 'backup', join(box.root, 'team.tar'), 'team'])
})
afterAll(async () => {
  await Promise.all([laptop.close(), box.close()])
  server?.end()
})

const settles = expect.stringMatching(/agent-relay workspace open team\..*agent-relay workspace create team --local/)
const hasTeam = () => existsSync(join(box.dataDir, 'projects', 'team', 'relay.db'))

test('no way of making a workspace takes the name, and each says the two commands that settle it', async () => {
  const env = { RELAY_PROJECT: 'team' }
  const started = await box.launch(['daemon', 'start'], { env })
  expect([started.code, started.stderr]).toEqual([1, settles])
  await box.serve()
  for (const args of [['up'], ['daemon', 'start', '--json'], ['workspace', 'create', 'team']]) {
    const { code, stderr } = await box.launch(args, { env })
    expect([args, code, stderr]).toEqual([args, 1, settles])
  }
  const imported = await box.run(['workspace', 'import', join(box.root, 'old.jsonl'), 'team'])
  expect([imported.code, imported.stderr]).toEqual([1, expect.stringContaining('the same command with --local')])
  const restored = await box.run(['workspace', 'restore', join(box.root, 'team.tar')])
  expect(restored.stderr).toContain('the same command with --local')
  expect(hasTeam()).toBe(false)
  // Any other name is as free as ever.
  expect((await box.run(['workspace', 'create', 'other'])).code).toBe(0)
  const { workspaces } = await box.json<{ workspaces: object[] }>(['workspace', 'list'])
  expect(workspaces).toContainEqual(expect.objectContaining({ name: 'team', open: false, shared: true }))
})

test('while the cluster does not answer, a name that it had is taken, and another one is free', async () => {
  server.kill()
  const { code, stderr } = await box.launch(['workspace', 'create', 'team'])
  expect([code, stderr]).toEqual([1, expect.stringContaining('does not answer, and when it last did, it had')])
  expect((await box.run(['workspace', 'create', 'mine'])).code).toBe(0)
  // Without a daemon too.
  await box.run(['daemon', 'stop'])
  const imported = await box.run(['workspace', 'import', join(box.root, 'old.jsonl'), 'team'])
  expect(imported.stderr).toContain('the same command with --local')
  expect(hasTeam()).toBe(false)
  await server.resume()
  await box.serve()
})

test('a person at a terminal is asked which one they mean', async () => {
  const atTerminal = (...args: string[]) => {
    const env = { ...box.env, RELAY_PROJECT: 'team', TERM: 'xterm' } as Record<string, string>
    const pty = spawnPty(process.execPath, [launcher, ...args], { cwd: box.root, env, cols: 200, rows: 30 })
    let shown = ''
    pty.onData((data) => {
      shown += data
    })
    const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))
    return { pty, ended, isAsked: () => until(() => shown.includes('Which one do you mean?')), shown: () => shown }
  }
  const cancelled = atTerminal('workspace', 'create', 'team')
  await cancelled.isAsked()
  cancelled.pty.write('\u0003')
  expect([await cancelled.ended, hasTeam()]).toEqual([1, false])
  const own = atTerminal('workspace', 'create', 'team')
  await own.isAsked()
  own.pty.write('\u001b[B\r')
  expect([await own.ended, hasTeam()]).toEqual([0, true])
  const isShared = async () =>
    (
      await box.json<{ workspaces: { name: string; open: boolean; shared?: true }[] }>(['workspace', 'list'])
    ).workspaces.some(({ name, open, shared }) => name === 'team' && open && shared)
  expect(await isShared()).toBe(false)
  await box.run(['workspace', 'remove', 'team', '--yes', '--force'])
  const joined = atTerminal('daemon', 'start')
  await joined.isAsked()
  joined.pty.write('\r')
  expect([await joined.ended, await isShared()]).toEqual([0, true])
  await box.run(['workspace', 'remove', 'team', '--yes', '--force'])
})

test('one that is made on purpose is listed beside the shared one, and doctor says how to part them', async () => {
  const made = await box.run(['workspace', 'create', 'team', '--local'])
  expect([made.code, hasTeam()]).toEqual([0, true])
  await box.run(['send', '#general', 'mine', '--project', 'team'])
  const { workspaces } = await box.json<{ workspaces: { name: string }[] }>(['workspace', 'list'])
  expect(workspaces.filter(({ name }) => name === 'team')).toMatchObject([
    { open: true, shadows: true },
    { open: false, shared: true },
  ])
  const listed = await box.run(['workspace', 'list'])
  expect(listed.stdout).toMatch(/team +open, on this machine alone .*\n(?:.*\n)*team +not open, shared/)
  expect(listed.stderr).toContain('hides a shared workspace of the same name')
  const { findings } = JSON.parse((await box.run(['doctor', '--json'])).stdout)
  const found = findings.find(({ text }: { text: string }) => text.includes('hides a shared workspace'))
  expect(found).toMatchObject({ check: 'shared', state: 'fault' })
  // As it says.
  const commands = [...found.fix.matchAll(/agent-relay ([^,]+)/g)].map(([, words]) => words.split(' '))
  expect(commands.length).toBe(4)
  for (const words of commands) {
    const ran = await box.launch(words[1] === 'remove' ? [...words, '--yes', '--force'] : words, { cwd: box.root })
    expect([words, ran.code, ran.stderr]).toEqual([words, 0, expect.anything()])
  }
  const after = await box.json<{ workspaces: { name: string }[] }>(['workspace', 'list'])
  expect(after.workspaces.filter(({ name }) => name === 'team')).toMatchObject([{ open: true, shared: true }])
  expect((await box.run(['workspace', 'export', '--project', 'team-here'])).stdout).toContain('mine')
})
