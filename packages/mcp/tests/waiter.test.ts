// The waiter that a hook leaves beside an idle session, as Claude Code runs it: this process is the host of the session and of its hooks.

import { type ChildProcess, spawn } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { RelayClient } from '@agent-relay/sdk'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aWhile, until } from '../../../test/until.ts'
import { call, type Env, outcomeOf, PipeWorld } from './pipe-world.ts'

const isLinux = process.platform === 'linux'
let world: PipeWorld
let lead: RelayClient
let own: Client
const children: ChildProcess[] = []

beforeAll(async () => {
  world = await PipeWorld.start()
  lead = new RelayClient({ agentName: 'Lead', socketPath: world.socketPath })
  await lead.connect()
  own = await world.client('claude-code')
  await call(own, 'relay_status')
  await until(() => existsSync(quietPath()))
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGTERM')
    await until(() => child.exitCode !== null || child.signalCode !== null)
  }
  // What a test left unread must not wake the waiter of the next.
  await call(own, 'relay_inbox')
  await call(own, 'relay_status')
  // That mail was read lets the daemon look only half a minute later, a hook that has come and gone at once.
  if (!existsSync(quietPath())) await hook(['rewake', '--cli', 'claude']).ended
  await until(() => existsSync(quietPath()))
})
afterAll(async () => {
  await lead.disconnect()
  await world.close()
})

const quietPath = () => join(hooksPath(), `quiet.${process.pid}`)
const hooksPath = () => join(world.root, 'hooks')
const waiters = (host = process.pid) => readdirSync(hooksPath()).filter((name) => name.startsWith(`${host}.`))
const launcherPath = () => join(world.root, 'bin/agent-relay-mcp')
const commandOf = (...words: string[]) => {
  const launcher = `"${launcherPath()}"`
  return `[ -x ${launcher} ] || exit 0; exec ${launcher} hook ${words.join(' ')}`
}
const asHost = (attended = '1'): Env => world.env({ CLAUDE_CODE_SESSION_ATTENDED: attended })

/** As the host runs it: through a shell, with what happened on stdin. */
function hook(words: string[], { env = asHost(), input = {} }: { env?: Env; input?: object } = {}) {
  const child = spawn('sh', ['-c', commandOf(...words)], { env, cwd: world.root, stdio: 'pipe' })
  children.push(child)
  child.stdin.on('error', () => {})
  child.stdin.end(`${JSON.stringify(input)}\n`)
  return { child, ended: outcomeOf(child) }
}

const silence = { code: 0, stdout: '', stderr: '' }
/** The daemon reaches the session itself, or does not. */
function door(isOpen: boolean): void {
  const path = join(hooksPath(), `door.${process.pid}`)
  if (isOpen) writeFileSync(path, '')
  else rmSync(path, { force: true })
}
async function waiter(event = 'Stop', { env, last = [] }: { env?: Env; last?: string[] } = {}) {
  const started = hook(['wait', '--cli', 'claude', event, ...last], { env, input: { source: 'startup' } })
  await until(() => waiters().includes(`${process.pid}.${started.child.pid}`))
  // Where something waits it looks once, by a Node of its own: whatever it finds ends it.
  await aWhile()
  const { pid } = started.child
  if (isLinux) await until(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() === '')
  return started
}

/** The waiters of this time look at their session every second, and wait for the end of a turn for two. */
async function withShortTicks(work: () => Promise<void>): Promise<void> {
  const text = readFileSync(launcherPath(), 'utf8')
  const short = [
    ['busy=12', 'busy=2'],
    ['read -t 5', 'read -t 1'],
    ['-ge 60', '-ge 2'],
  ].reduce((before, [long = '', quick = '']) => {
    expect(before).toContain(long)
    return before.replaceAll(long, quick)
  }, text)
  writeFileSync(launcherPath(), short)
  await work().finally(() => writeFileSync(launcherPath(), text))
}

/** A Node would be twenty times as large as a shell. */
function expectNoNode(pid: number | undefined): void {
  if (isLinux) expect(readlinkSync(`/proc/${pid}/exe`)).not.toBe(realpathSync(process.execPath))
}

describe('a waiter', () => {
  test('is no Node, and wakes its session with what has come', async () => {
    const { child, ended } = await waiter()
    expectNoNode(child.pid)
    expect((await lead.call('agent.list', {})).agents.find(({ name }) => name === 'claude-code')?.reached).toBe('wakes')
    const { id } = await lead.send('claude-code', 'wake up')
    expect(await ended).toEqual({
      code: 2,
      stdout: '',
      stderr: `Relay message from Lead [${id}]: wake up\nAnswer with mcp__agent-relay__relay_send(to="Lead").\n`,
    })
    const { receipts } = await lead.call('message.receipts', { message: id })
    expect(receipts[0]).toMatchObject({ state: 'offered', route: 'rewake' })
    // The prompt that this makes of it needs no second look, and the next one is the person's own.
    expect(waiters()).toEqual([`${process.pid}.woken`])
    expect(await hook(['UserPromptSubmit', '--cli', 'claude']).ended).toEqual(silence)
    expect(waiters()).toEqual([])
  })

  test('says all that came together, once', async () => {
    const { ended } = await waiter()
    await Promise.all(['one', 'two', 'three'].map((text) => lead.send('claude-code', text)))
    const { stderr } = await ended
    const texts = ['one', 'two', 'three']
    // What the first did not see any more ends the next at once.
    const hasAll = texts.every((text) => stderr.includes(`: ${text}\n`))
    const more = hasAll ? '' : (await hook(['wait', '--cli', 'claude', 'Stop']).ended).stderr
    for (const text of texts) expect(`${stderr}${more}`.split(`: ${text}\n`)).toHaveLength(2)
    // And this one finds nothing.
    await waiter()
  })

  test('keeps still while its session is in a turn; the next one has what came meanwhile', async () => {
    const first = await waiter('SessionStart')
    expect(await hook(['UserPromptSubmit', '--cli', 'claude']).ended).toEqual(silence)
    await lead.send('claude-code', 'while you are busy')
    await aWhile(600)
    expect(first.child.exitCode).toBeNull()
    expect(await hook(['Stop', '--cli', 'claude']).ended).toEqual(silence)
    const second = hook(['wait', '--cli', 'claude', 'Stop'])
    expect(await first.ended).toEqual(silence)
    expect(await second.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('while you are busy') })
  })

  describe('after it has woken its session', () => {
    /** Both hooks of the prompt that the wake-up is, at once. */
    async function woken(text: string) {
      const { ended } = await waiter()
      await lead.send('claude-code', text)
      expect((await ended).code).toBe(2)
      const now = hook(['UserPromptSubmit', '--cli', 'claude'])
      const next = await waiter('UserPromptSubmit')
      expect(await now.ended).toEqual(silence)
      expect(waiters()).toEqual([`${process.pid}.${next.child.pid}`])
      return next
    }

    test('the next one stands from the prompt on: it keeps still, and goes at the end of the turn', async () => {
      const next = await woken('begin a turn')
      expectNoNode(next.child.pid)
      await lead.send('claude-code', 'during this turn')
      await aWhile(600)
      expect(next.child.exitCode).toBeNull()
      const { stderr } = await hook(['wait', '--cli', 'claude', 'Stop']).ended
      expect(await next.ended).toEqual(silence)
      expect([stderr.includes('during this turn'), stderr.includes('begin a turn')]).toEqual([true, false])
    })

    test('and the turn has no end, mail wakes it again', async () => {
      await withShortTicks(async () => {
        const next = await woken('begin a turn that is broken off')
        await lead.send('claude-code', 'after it was broken off')
        expect(await next.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('after it was broken off') })
        // Also where more comes than it can wait for.
        const busy = await waiter('UserPromptSubmit')
        await hook(['UserPromptSubmit', '--cli', 'claude']).ended
        let isOver = false
        void busy.ended.then(() => (isOver = true))
        while (!isOver) {
          await lead.send('claude-code', 'one of many')
          await aWhile(200)
        }
        expect(await busy.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('one of many') })
      })
    })
  })

  test('understands the rest of a line whose beginning went with its last tick', async () => {
    const { child, ended } = await waiter()
    const tell = (rest: string) => appendFileSync(join(hooksPath(), `${process.pid}.${child.pid}`), `${rest}\n`)
    for (const rest of ['usy', 'ail', '']) tell(rest)
    await aWhile(600)
    await lead.send('claude-code', 'to somebody busy')
    await aWhile(600)
    expect(child.exitCode).toBeNull()
    tell('nd')
    expect(await ended).toEqual(silence)
  })

  test('is not doubled by a prompt, and one that was killed is replaced', async () => {
    const first = await waiter()
    expect(await hook(['wait', '--cli', 'claude', 'UserPromptSubmit']).ended).toEqual(silence)
    expect([first.child.exitCode, waiters()]).toEqual([null, [`${process.pid}.${first.child.pid}`]])
    first.child.kill('SIGKILL')
    await first.ended
    await waiter('UserPromptSubmit')
  })

  test('says nothing while another hook of its session hands out the mail, and says what that hook has not', async () => {
    const first = await waiter()
    expect(await hook(['UserPromptSubmit', '--cli', 'claude']).ended).toEqual(silence)
    const shown = await lead.send('claude-code', 'by the other hook')
    const kept = await lead.send('claude-code', 'by nobody')
    // It speaks as a hook does: it has taken both, and has not reported yet.
    const other = await RawConnection.open(world.socketPath)
    await other.ask('HELLO', { hosts: [process.pid] })
    const { payload } = await other.call('inbox.take', { route: 'hook' })
    expect(payload.messages).toMatchObject([{ id: shown.id }, { id: kept.id }])
    const second = await waiter()
    expect(await first.ended).toEqual(silence)
    expect(await hook(['rewake', '--cli', 'claude']).ended).toEqual(silence)
    await other.call('inbox.offer', { messages: [shown.id], route: 'hook' })
    expect(second.child.exitCode).toBeNull()
    await other.end()
    const { code, stderr } = await second.ended
    expect([code, stderr.includes('by the other hook'), stderr.includes('by nobody')]).toEqual([2, false, true])
  })

  test('is not started after a compaction, nor in a session that no person attends', async () => {
    const compacted = hook(['wait', '--cli', 'claude', 'SessionStart'], { input: { source: 'compact' } })
    expect(await compacted.ended).toEqual(silence)
    for (const attended of ['0', ''])
      for (const event of ['UserPromptSubmit', 'Stop'])
        expect(await hook(['wait', '--cli', 'claude', event], { env: asHost(attended) }).ended).toEqual(silence)
    expect(waiters().filter((name) => !name.endsWith('woken'))).toEqual([])
    await until(() => existsSync(quietPath()))
    expect(await hook(['Stop', '--cli', 'claude'], { env: asHost('0') }).ended).toEqual(silence)
    await lead.send('claude-code', 'for a session without a person')
    await until(() => !existsSync(quietPath()))
    for (const event of ['SessionStart', 'UserPromptSubmit'])
      expect(await hook([event, '--cli', 'claude'], { env: asHost('0') }).ended).toEqual(silence)
    const { stdout } = await hook(['Stop', '--cli', 'claude'], { env: asHost('0') }).ended
    expect(JSON.parse(stdout)).toMatchObject({ decision: 'block', reason: expect.stringContaining('without a person') })
  })

  test('outlives the daemon, and is told by the next one', async () => {
    const { child, ended } = await waiter()
    await world.restartDaemon('SIGKILL')
    await call(own, 'relay_status')
    expect(child.exitCode).toBeNull()
    await lead.send('claude-code', 'after the restart')
    expect(await ended).toMatchObject({ code: 2, stderr: expect.stringContaining('after the restart') })
  })

  test('is not left where the daemon reaches the session itself, and one that stands ends', () =>
    withShortTicks(async () => {
      const { ended } = await waiter()
      try {
        door(true)
        expect(await ended).toEqual(silence)
        for (const event of ['SessionStart', 'UserPromptSubmit', 'Stop'])
          expect(await hook(['wait', '--cli', 'claude', event], { input: { source: 'startup' } }).ended).toEqual(
            silence,
          )
        expect(waiters()).toEqual([])
        // Nor does the hook of a prompt hand over what the daemon is about to.
        await lead.send('claude-code', 'by the door')
        expect(await hook(['UserPromptSubmit', '--cli', 'claude']).ended).toEqual(silence)
      } finally {
        door(false)
      }
      // As before, where it does so no more.
      expect((await hook(['UserPromptSubmit', '--cli', 'claude']).ended).stdout).toContain('by the door')
      await waiter()
    }))

  test('ends with its host', async () => {
    await withShortTicks(async () => {
      const host = spawn('sh', ['-c', `sh -c '${commandOf('wait', '--cli', 'claude', 'Stop')}' & wait`], {
        env: asHost(),
      })
      children.push(host)
      await until(() => waiters(host.pid).length === 1)
      const [pid] = waiters(host.pid).map((name) => Number(name.split('.')[1]))
      host.kill('SIGKILL')
      await until(() => waiters(host.pid).length === 0)
      if (isLinux) await until(() => !existsSync(`/proc/${pid}`))
    })
  })

  test('ends when a newer waiter takes its place, and when it is killed, and leaves no file', async () => {
    const { ended } = await waiter()
    const next = await waiter()
    expect(await ended).toEqual(silence)
    next.child.kill('SIGTERM')
    expect(await next.ended).toEqual(silence)
    expect(waiters()).toEqual([])
  })
})

describe('in a worker', () => {
  /** Its CLI need not say that somebody attends it. */
  const asWorker = (): Env => world.env({ RELAY_WORKER: 'w_1', RELAY_SOCKET: world.socketPath })

  test('its own hooks wait without a Node, too, and wake it', async () => {
    const { child, ended } = await waiter('Stop', { env: asWorker(), last: ['--worker'] })
    expectNoNode(child.pid)
    expect(await hook(['Stop', '--cli', 'claude', '--worker'], { env: asWorker() }).ended).toEqual(silence)
    await lead.send('claude-code', 'for the worker')
    expect(await ended).toMatchObject({ code: 2, stderr: expect.stringContaining('for the worker') })
  })

  test("those in its user's files are silent", async () => {
    await lead.send('claude-code', 'not by these')
    for (const words of [
      ['SessionStart', '--cli', 'claude'],
      ['wait', '--cli', 'claude', 'SessionStart'],
      ['wait', '--cli', 'claude', 'UserPromptSubmit'],
      ['Stop', '--cli', 'claude'],
      ['wait', '--cli', 'claude', 'Stop'],
    ])
      expect(await hook(words, { env: { ...asHost(), ...asWorker() } }).ended).toEqual(silence)
  })
})
