// The number of statements of a send. Every message would pay for one more.

import { makeIds } from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import { Workspace } from '../../src/broker/workspace.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { Database, type Statement } from '../../src/store/database.ts'
import { loud } from '../broker/loud.ts'

const ran: string[] = []
const { exec, prepare } = Database.prototype
Database.prototype.exec = function (sql) {
  ran.push(sql)
  exec.call(this, sql)
}
Database.prototype.prepare = function (sql) {
  const statement = prepare.call(this, sql)
  const noted =
    (kind: keyof Statement) =>
    (...values: never[]) => {
      ran.push(sql)
      return statement[kind](...values) as never
    }
  return { run: noted('run'), get: noted('get'), all: noted('all') }
}

/** The statement's first words. */
const short = (sql: string) => /^\w+(?: INTO \w+| IMMEDIATE)?/.exec(sql.trim())?.[0]

test('a send to somebody, in a conversation that is known, is two inserts in a transaction', async () => {
  const paths = { databasePath: ':memory:', searchPath: ':memory:' }
  const workspace = new Workspace({ name: 'count', ...paths, clock: systemClock, ids: makeIds(), ...loud })
  await workspace.start(() => {})
  for (const name of ['ada', 'bob']) {
    const input = { name, proven: false, mayRetake: true, isHolder: false, tokenHash: `hash of ${name}` }
    await workspace.engine.submit({ rule: 'agent.register', input, by: name, cause: `hello ${name}` })
  }
  const send = (to: string, cause: string) =>
    workspace.engine.submit({ rule: 'message.send', input: { to, body: 'x' }, by: 'ada', cause })
  const costs = async (...calls: [to: string, cause: string][]) => {
    ran.length = 0
    await Promise.all(calls.map(([to, cause]) => send(to, cause)))
    return ran.map(short)
  }
  await costs(['bob', 'c1'], ['#general', 'c2'])
  const insert = ['INSERT INTO journal', 'INSERT INTO messages']
  expect(await costs(['bob', 'c3'])).toEqual(['BEGIN IMMEDIATE', ...insert, 'COMMIT'])
  expect(await costs(['bob', 'c4'], ['bob', 'c5'])).toEqual(['BEGIN IMMEDIATE', ...insert, ...insert, 'COMMIT'])
  expect(await costs(['#general', 'c6'])).toEqual(['BEGIN IMMEDIATE', 'SELECT', ...insert, 'COMMIT'])
  workspace.close()
})
