// `notices` at the command line, and `send --when-idle`: asked, listed, told in the inbox, dropped.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { World } from './cli-world.ts'

let world: World
beforeEach(async () => {
  world = new World()
  await world.serve()
})
afterEach(() => world.close())

const as = (agent: string, ...args: string[]) => world.run([...args, '--as', agent])
const bodies = async (agent: string) => {
  const { messages } = await world.json<{ messages: { from: string; body: string }[] }>(['inbox', '--as', agent])
  return messages.map(({ from, body }) => `${from}: ${body}`)
}

test('asked, listed, told and dropped', async () => {
  for (const name of ['Ann', 'Bob']) await as(name, 'inbox')
  const none = 'You wait for no notice. To ask for one: agent-relay notices ask NAME --as Ann\n'
  expect(await as('Ann', 'notices')).toMatchObject({ code: 0, stdout: '', stderr: none })
  const asked = await as('Ann', 'notices', 'ask', 'Bob', '--when', 'answered')
  expect(asked).toMatchObject({ code: 0, stdout: 'You are told once when Bob has answered.\n' })
  expect((await as('Ann', 'notices')).stdout).toMatch(/^AGENT +WHEN +MESSAGE +ASKED\nBob +has answered +now\n$/)
  const { notices } = await world.json<{ notices: object[] }>(['notices', 'list', '--as', 'Ann'])
  expect(notices).toMatchObject([{ agent: 'Bob', when: 'answered' }])
  const { id } = await world.json(['send', 'Ann', 'main it is', '--as', 'Bob'])
  const told: string[] = []
  await until(async () => told.push(...(await bodies('Ann'))) === 2)
  expect(told).toEqual(['Bob: main it is', `agent-relay: Bob has answered: ${id} "main it is"`])
  await as('Ann', 'notices', 'ask', 'Bob')
  expect((await as('Ann', 'notices', 'drop', 'Bob')).stdout).toBe('Dropped: 1 notice of Bob.\n')
  expect(await as('Ann', 'notices', 'drop', 'Bob')).toMatchObject({
    code: 1,
    stderr: 'You have not asked for a notice about Bob. To see and drop yours: agent-relay notices --as Ann\n',
  })
  expect(await as('Ann', 'notices', 'ask', 'Bbo')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Did you mean Bob'),
  })
  expect(await as('Ann', 'notices', 'ask', 'Bob', '--when', 'later')).toMatchObject({ code: 2 })
})

test('send --when-idle sends, and asks to be told', async () => {
  for (const name of ['Ann', 'Bob']) await as(name, 'inbox')
  const sent = await as('Ann', 'send', 'Bob', 'Can you take the parser?', '--when-idle')
  expect(sent).toMatchObject({ code: 0, stderr: '' })
  const [id] = sent.stdout.split(' ')
  expect(sent.stdout.split('\n')[1]).toBe('You are told once when Bob is idle.')
  expect((await as('Ann', 'notices')).stdout).toContain(`Bob    is idle  ${id}`)
  expect(await bodies('Bob')).toEqual(['Ann: Can you take the parser?'])
  for (const args of [['#general'], ['Bob,Cy'], ['*'], ['Bob', '--queue']]) {
    const [to = '', ...more] = args
    const refused = await as('Ann', 'send', to, 'x', '--when-idle', ...more)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--when-idle needs one agent') })
  }
})

test('whose screens all agents may see is a line of the policy', async () => {
  const shown = await world.run(['workspace', 'policy', 'set', '--terminal', '*=*'])
  expect(shown.stdout).toMatch(/^all agents see +terminals of all$/m)
  expect((await world.run(['workspace', 'policy', 'set', '--terminal', '*=none'])).stdout).not.toContain('all agents')
})
