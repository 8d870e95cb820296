// Claims as agents meet them: made by the edit, denied to others in words that help, told to the holder once, and ended as they should be.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { git, makeRepository } from '../../packages/relay/tests/work/repository-world.ts'
import { type Actor, eventually, playOnOneMachine, playOnSocket, refused } from './play.ts'

let base: string
let cwd: string
let count = 0
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'relay-claims-')))
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** A checkout of its own for each play. */
const checkout = () => {
  cwd = join(base, `r${++count}`)
  makeRepository(cwd)
}
const edits = (actor: Actor, ...files: string[]) => actor.call('claim.edit', { cwd, files })
const runs = (actor: Actor, command: string) =>
  actor.call('claim.edit', { cwd, files: [], git: { command, directory: cwd } })
const claimsOf = async (actor: Actor) => (await actor.call('claim.list', {})).claims
const claims = async (actor: Actor) => (await claimsOf(actor)).map(({ agent, file, how }) => `${agent} ${file} ${how}`)

playOnOneMachine(
  'the first edit claims a file; the next agent is told who has it, since when, and how to ask',
  async (stage) => {
    checkout()
    const { ada, bob, cy, clock, enter, key } = stage
    expect(await edits(ada, 'a.txt', 'sub/b.txt')).toEqual({ isDenied: false, met: [] })
    const denied = await edits(bob, 'a.txt')
    expect(denied.isDenied).toBe(true)
    expect(denied.text).toBe(
      'ada is editing a.txt (since 12:00 UTC). Your edit was not made. To ask: relay_send(to="ada"). ' +
        'The claim ends when they commit the file, or 10 minutes after their last edit.',
    )
    expect((await edits(bob, 'a.txt', 'c.txt')).isDenied).toBe(true)
    expect((await edits(cy, 'a.txt')).isDenied).toBe(true)
    const told = (by: string) =>
      `${by} wanted to edit a.txt, while you are editing a.txt. It was denied. ` +
      'If you are done with it, commit it or run: agent-relay claims drop FILE'
    await ada.takes(told('bob'), told('cy'))
    expect(await claims(cy)).toEqual(['ada a.txt edit', 'ada sub/b.txt edit'])
    const holder = await enter({ key: key() })
    const { events } = await holder.call('event.list', { types: ['claim.denied'] })
    expect(events.map(({ fact }) => (fact as { agent: string }).agent)).toEqual(['bob', 'bob', 'cy'])
    expect((await cy.call('event.list', { types: ['claim.denied'] })).events).toHaveLength(1)
    await clock.passes(600_000)
    expect((await edits(bob, 'a.txt')).isDenied).toBe(false)
  },
)

playOnOneMachine(
  'a git command that sweeps: stopped once with the list, then run; under strict never',
  async ({ ada, bob }) => {
    checkout()
    await edits(ada, 'a.txt')
    const warned = await runs(bob, 'git stash')
    expect(warned.isDenied).toBe(true)
    expect(warned.text).toContain(
      '`git stash` would touch files that others are editing in this checkout: ada is editing',
    )
    expect(warned.text).toContain('give the same command again')
    expect((await runs(bob, 'git clean -fd')).isDenied).toBe(true)
    expect((await runs(bob, 'git stash')).isDenied).toBe(false)
    expect((await runs(ada, 'git stash')).isDenied).toBe(false)
    const told = (await bob.call('inbox.take', {})).messages.map(({ body }) => body)
    expect(told).toEqual([
      'ada is editing a.txt (since 12:00 UTC). Check that nothing of theirs is lost. To ask: relay_send(to="ada").',
    ])
  },
)

playOnOneMachine('off does nothing, warn lets it pass and tells both', async ({ ada, bob, enter, key }) => {
  checkout()
  const holder = await enter({ key: key() })
  await holder.call('workspace.set-policy', { claims: 'off' })
  await edits(ada, 'a.txt')
  expect(await claims(ada)).toEqual([])
  await holder.call('workspace.set-policy', { claims: 'warn' })
  await edits(ada, 'a.txt')
  expect(await edits(bob, 'a.txt')).toMatchObject({ isDenied: false, text: expect.stringContaining('ada is editing') })
  expect((await ada.call('inbox.take', {})).messages.map(({ body }) => body)).toEqual([
    'bob has edited a.txt, while you are editing a.txt. Check your work.',
  ])
  expect((await bob.call('inbox.take', {})).messages).toHaveLength(1)
  await holder.call('workspace.set-policy', { claims: 'strict' })
  for (let n = 0; n < 3; n++) expect((await runs(bob, 'git reset --hard')).isDenied).toBe(true)
})

playOnOneMachine('by hand: for ten minutes, dropped by who made it or by a person', async (stage) => {
  checkout()
  const { ada, bob, clock, enter, key } = stage
  const kim = await enter({ name: 'kim', type: 'human', key: key() })
  const byHand = { cwd, files: ['a.txt', 'new.txt'] }
  expect((await ada.call('claim.add', byHand)).claims.map(({ file }) => file)).toEqual(['a.txt', 'new.txt'])
  await refused(bob.call('claim.add', byHand), 'claim.held', /ada has claimed a.txt since 12:00 UTC/)
  await refused(bob.call('claim.drop', byHand), 'claim.not-yours', /Only ada and people/)
  await refused(bob.call('claim.add', { cwd, files: ['/etc/hostname'] }), 'claim.outside', /not a file of a git/)
  // Whoever typed it may go.
  await ada.leaves()
  await clock.passes(60_000)
  expect(await claims(bob)).toEqual(['ada a.txt hand', 'ada new.txt hand'])
  await kim.call('claim.drop', { cwd, files: ['new.txt'] })
  expect((await edits(bob, 'new.txt')).isDenied).toBe(false)
  await clock.passes(600_000)
  expect((await edits(bob, 'a.txt')).isDenied).toBe(false)
})

playOnOneMachine('alone nothing is claimed; who goes loses the claims of their edits a little later', async (stage) => {
  checkout()
  const { ada, bob, cy, clock } = stage
  await edits(bob, 'a.txt')
  await bob.leaves()
  // The time counts from when the daemon has noticed.
  await eventually(async () => expect((await ada.call('agent.list', {})).agents).toHaveLength(2))
  await clock.passes(14_000)
  expect((await edits(ada, 'a.txt')).isDenied).toBe(true)
  await clock.passes(2_000)
  await eventually(async () => expect((await edits(ada, 'a.txt')).isDenied).toBe(false))
  await cy.leaves()
  await eventually(async () => expect((await ada.call('agent.list', {})).agents).toHaveLength(1))
  await edits(ada, 'c.txt')
  expect(await claims(ada)).toEqual(['ada a.txt edit'])
})

playOnOneMachine(
  'edits of its holder are written down once a minute, and the claim ends ten minutes after the last',
  async (stage) => {
    checkout()
    const { ada, bob, clock, enter, key } = stage
    const holder = await enter({ key: key() })
    const renewed = async () => (await holder.call('event.list', { types: ['claim.renewed'] })).events.length
    for (let n = 0; n < 10; n++) {
      await edits(ada, 'a.txt')
      await clock.passes(5_000)
    }
    expect(await renewed()).toBe(0)
    // The last edit was after 45 s. Nothing but time passes now.
    await clock.passes(60_000)
    await eventually(async () => expect(await renewed()).toBe(1))
    expect((await claimsOf(bob))[0]).toMatchObject({ until: '2026-01-01T12:10:45.000Z' })
    await clock.passes(645_000 - 110_000 - 1)
    expect((await edits(bob, 'a.txt')).isDenied).toBe(true)
    await clock.passes(1)
    expect((await edits(bob, 'a.txt')).isDenied).toBe(false)
  },
)

playOnSocket('the same file in a worktree is another file, and both are told', async ({ ada, bob }) => {
  checkout()
  const tree = join(base, `tree-${count}`)
  git(cwd, 'worktree', 'add', '-q', tree)
  await edits(ada, 'a.txt')
  for (let n = 0; n < 2; n++)
    expect((await bob.call('claim.edit', { cwd: tree, files: ['a.txt'] })).isDenied).toBe(false)
  await ada.takes(
    'bob edits a.txt too, in another checkout of the repository: the changes will meet when they are merged.',
  )
  expect((await bob.call('inbox.take', {})).messages).toHaveLength(1)
  // A link from one checkout into the other is a file of the other.
  symlinkSync(join(cwd, 'a.txt'), join(tree, 'link.txt'))
  expect((await bob.call('claim.edit', { cwd: tree, files: ['link.txt'] })).isDenied).toBe(true)
})

playOnSocket('a commit of the file ends its claim, and no other', async ({ ada, bob, clock }) => {
  checkout()
  await edits(ada, 'a.txt', 'c.txt')
  for (const file of ['a.txt', 'c.txt']) writeFileSync(join(cwd, file), 'changed\n')
  await clock.passes(10_000)
  git(cwd, 'add', 'a.txt')
  const date = `${Math.floor(clock.now() / 1_000)} +0000`
  const env = { ...process.env, GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date }
  execFileSync('git', ['commit', '-qm', 'mine'], { cwd, env })
  // git may be too slow for a hook on a loaded machine: then the claim stands until somebody looks.
  await eventually(async () => expect(await claims(bob)).toEqual(['ada c.txt edit']))
  expect((await edits(bob, 'a.txt')).isDenied).toBe(false)
  // Edited again after the commit: still in hand.
  await clock.passes(10_000)
  await edits(bob, 'a.txt')
  expect(await claims(bob)).toEqual(['ada c.txt edit', 'bob a.txt edit'])
})

playOnSocket('claims outlive the daemon, and end if their holder does not come back', async (stage) => {
  checkout()
  const { ada, bob, house, clock } = stage
  await edits(ada, 'a.txt')
  await house.stop()
  await house.start()
  await eventually(async () => expect((await edits(bob, 'a.txt')).isDenied).toBe(true))
  await ada.leaves()
  await eventually(async () => {
    await clock.passes(16_000)
    expect((await edits(bob, 'a.txt')).isDenied).toBe(false)
  })
})
