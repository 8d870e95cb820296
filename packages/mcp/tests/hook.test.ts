// The hook as a CLI runs it: a process of its own beside the agent's MCP session, on a real daemon.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayClient } from '@agent-relay/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, type Env, type Json, PipeWorld, pipeLauncher } from './pipe-world.ts'

let world: PipeWorld
let lead: RelayClient
const clients: RelayClient[] = []
beforeAll(async () => {
  world = await PipeWorld.start()
  lead = await connect('Lead')
})
afterAll(async () => {
  for (const client of clients) await client.disconnect()
  await world.close()
})

async function connect(name: string): Promise<RelayClient> {
  const client = new RelayClient({ agentName: name, socketPath: world.socketPath })
  clients.push(client)
  await client.connect()
  return client
}

let count = 0
/** An agent with a token, as a worker has it; nobody is connected as it. */
async function agent(): Promise<{ name: string; env: Env }> {
  const name = `Worker${++count}`
  const client = await connect(name)
  const token = client.token as string
  await client.disconnect()
  return { name, env: world.env({ RELAY_AGENT_NAME: name, RELAY_AGENT_TOKEN: token, RELAY_SOCKET: world.socketPath }) }
}

function start(env: Env, ...args: string[]) {
  const child = spawn(process.execPath, [pipeLauncher, 'hook', ...args], { env, cwd: world.root, stdio: 'pipe' })
  const out = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    out.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    out.stderr += chunk
  })
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number, ...out })) }
}

/** It has said who it is; its question follows on the answer. */
async function isThere(name: string): Promise<void> {
  const status = async () => (await lead.call('agent.list', {})).agents.find((agent) => agent.name === name)?.status
  for (const end = Date.now() + 15_000; (await status()) !== 'active'; await sleep(20))
    if (Date.now() > end) throw new Error(`${name} did not come`)
  await sleep(100)
}

const run = (env: Env, ...args: string[]) => start(env, ...args).ended
const silence = { code: 0, stdout: '', stderr: '' }
const receipt = async (id: string): Promise<Json> => (await lead.call('message.receipts', { message: id })).receipts[0]

describe('what each event is told', () => {
  test.each(['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'BeforeAgent', 'AfterTool'])(
    '%s: as context',
    async (event) => {
      const { name, env } = await agent()
      const { id } = await lead.send(name, 'review 12?')
      const { code, stdout, stderr } = await run(env, event)
      expect([code, stderr]).toEqual([0, ''])
      expect(JSON.parse(stdout)).toEqual({
        hookSpecificOutput: {
          hookEventName: event,
          additionalContext: `Relay message from Lead [${id}]: review 12?\nAnswer with mcp__agent-relay__relay_send(to="Lead").`,
        },
      })
    },
  )

  test.each([
    ['Stop', 'codex', 'mcp__agent_relay__', true],
    ['AfterAgent', 'gemini', 'mcp_agent-relay_', false],
  ])('%s of %s: goes on with it', async (event, cli, prefix, isWrapped) => {
    const { name, env } = await agent()
    await lead.send(name, 'one')
    await lead.send(name, 'two')
    const { decision, reason } = JSON.parse((await run(env, event, '--cli', cli)).stdout)
    expect(decision).toBe('block')
    expect(reason).toMatch(/from Lead \[m_\w+\]: one\nRelay message from Lead \[m_\w+\]: two\n/)
    expect(reason).toContain(`${prefix}relay_send(to="Lead")`)
    expect(reason.startsWith('<system-reminder>')).toBe(isWrapped)
  })
})

test('what is too long for a context waits for the end of the turn, and nothing overtakes it', async () => {
  const { name, env } = await agent()
  const long = `${'x'.repeat(100_000)} end`
  await lead.send(name, 'short')
  await lead.send(name, long)
  await lead.send(name, 'after it')
  const context = (await run(env, 'PostToolUse')).stdout
  expect(context).toContain('short')
  expect(context).not.toMatch(/xxx|after it/)
  expect(await run(env, 'PostToolUse')).toEqual(silence)
  const { reason } = JSON.parse((await run(env, 'Stop')).stdout)
  expect(reason).toContain(`: ${long}\nRelay message from Lead`)
  expect(reason).toContain('after it')
})

describe('the receipt', () => {
  test('offered by the hook, said once, and read when the agent calls', async () => {
    const { name, env } = await agent()
    const pipe = world.pipe(env)
    await pipe.initialize()
    const { id } = await lead.send(name, 'once')
    expect((await run(env, 'PostToolUse')).stdout).toContain('once')
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'hook' })
    expect(await run(env, 'Stop')).toEqual(silence)
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'hook' })
    await pipe.call('relay_who')
    expect(await receipt(id)).toMatchObject({ state: 'read', route: 'hook' })
    expect(await pipe.call('relay_inbox')).toBe('No messages in inbox.')
  })

  test('a host that died with it: the inbox still has it, and a new session is told', async () => {
    const { name, env } = await agent()
    await lead.send(name, 'do not lose this')
    await run(env, 'Stop')
    expect((await run(env, 'SessionStart')).stdout).toContain('do not lose this')
    const pipe = world.pipe(env)
    await pipe.initialize()
    // Its first call shows that it has come back: what the hooks printed was its own.
    expect(await pipe.call('relay_inbox', { unread_only: false })).toContain('do not lose this')
  })

  test('a hook that ended before it could say anything: the next one says it, and a waiting one at once', async () => {
    const { name, env } = await agent()
    const taker = new RelayClient({ agentName: name, socketPath: world.socketPath, token: env.RELAY_AGENT_TOKEN })
    await taker.connect()
    const { id } = await lead.send(name, 'taken, not shown')
    expect((await taker.call('inbox.take', { route: 'hook' })).messages).toHaveLength(1)
    expect(await run(env, 'Stop')).toEqual(silence)
    const waiter = start(env, 'wait')
    await sleep(500)
    expect(waiter.child.exitCode).toBeNull()
    await taker.disconnect()
    expect(await waiter.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('taken, not shown') })
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'hook' })
  })

  test('what the agent holds already is not told again', async () => {
    const { name, env } = await agent()
    const pipe = world.pipe(env)
    await pipe.initialize()
    await lead.send(name, 'taken')
    expect(await pipe.call('relay_inbox')).toContain('taken')
    expect(await run(env, 'Stop')).toEqual(silence)
  })
})

describe('hook wait', () => {
  test('sleeps until a message comes, and wakes its host with it', async () => {
    const { name, env } = await agent()
    const { child, ended } = start(env, 'wait')
    await isThere(name)
    expect(child.exitCode).toBeNull()
    const { id } = await lead.send(name, 'wake up')
    const { code, stdout, stderr } = await ended
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toBe(
      `Relay message from Lead [${id}]: wake up\nAnswer with mcp__agent-relay__relay_send(to="Lead").\n`,
    )
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'hook' })
  })

  test('the newest waiter is the one that is heard', async () => {
    const { name, env } = await agent()
    const first = start(env, 'wait')
    await isThere(name)
    const second = start(env, 'wait')
    expect(await first.ended).toEqual(silence)
    await lead.send(name, 'for the second')
    expect(await second.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('for the second') })
  })

  test('messages to others wake nobody', async () => {
    const { name, env } = await agent()
    const other = await agent()
    const { child } = start(env, 'wait')
    await isThere(name)
    await lead.send(other.name, 'not for you')
    await sleep(300)
    expect(child.exitCode).toBeNull()
    child.kill('SIGKILL')
  })

  test('one that was killed has taken nothing', async () => {
    const { name, env } = await agent()
    const { child, ended } = start(env, 'wait')
    await isThere(name)
    child.kill('SIGKILL')
    await ended
    await lead.send(name, 'still here')
    expect((await run(env, 'Stop')).stdout).toContain('still here')
  })
})

describe('never a trouble for the host', () => {
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: this is how hosts pass on what they did not replace
  test.each([
    ['no token', { RELAY_AGENT_TOKEN: '' }],
    ['an unexpanded token', { RELAY_AGENT_TOKEN: '${RELAY_AGENT_TOKEN}' }],
    ['an unexpanded name', { RELAY_AGENT_NAME: '$RELAY_AGENT_NAME' }],
    ['a wrong token', { RELAY_AGENT_TOKEN: 'at_wrong' }],
    ['no daemon', { RELAY_SOCKET: '/nonexistent/daemon.sock' }],
  ])('%s: silence', async (_, extra) => {
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: only there
    const { name, env } = await agent()
    await lead.send(name, 'hidden')
    for (const event of ['Stop', 'wait']) expect(await run({ ...env, ...extra }, event)).toEqual(silence)
  })

  test('nothing waits, or the CLI is not known: silence', async () => {
    const { env } = await agent()
    expect(await run(env, 'Stop')).toEqual(silence)
    expect(await run(env, 'Stop', '--cli', 'nope')).toEqual(silence)
  })

  test('a daemon that stops ends a waiter quietly', async () => {
    const { name, env } = await agent()
    const { ended } = start(env, 'wait')
    await isThere(name)
    await world.restartDaemon('SIGTERM')
    expect(await ended).toEqual(silence)
  })

  test('without an event it says how it is used', async () => {
    const { code, stderr } = await run(world.env())
    expect([code, stderr]).toEqual([1, 'hook needs the name of an event, or wait\nRun with --help for usage\n'])
  })
})

describe("in a person's own session, which has no token, the hook speaks for the agent that the same host started", () => {
  // A daemon of its own: this process is the host of every pipe here, and those of the tests above come back after a restart.
  let former: PipeWorld
  beforeAll(async () => {
    former = world
    world = await PipeWorld.start()
    lead = await connect('Lead')
  })
  afterAll(async () => {
    await lead.disconnect()
    await world.close()
    world = former
  })

  /** As a CLI runs it: directly, or through a shell or two. */
  const throughShells = (event: string) => {
    const inner = `"${process.execPath}" "${pipeLauncher}" hook ${event}; true`
    const child = spawn('sh', ['-c', `sh -c '${inner}'; true`], { env: world.env(), cwd: world.root, stdio: 'pipe' })
    let stdout = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    return once(child, 'close').then(() => stdout)
  }

  test('nobody is there yet: silence', async () => {
    expect(await run(world.env(), 'Stop')).toEqual(silence)
  })

  test('what waits is offered by the hook, and read at the next call', async () => {
    const own = await world.client('claude-code')
    await call(own, 'relay_status')
    const { id } = await lead.send('claude-code', 'for your own session')
    expect(await throughShells('Stop')).toContain('for your own session')
    expect(await receipt(id)).toMatchObject({ agent: 'claude-code', state: 'offered', route: 'hook' })
    expect(await run(world.env(), 'Stop')).toEqual(silence)
    await call(own, 'relay_status')
    expect(await receipt(id)).toMatchObject({ state: 'read' })
    await own.close()
  })

  test('another host, that is no ancestor, has another agent', async () => {
    const script = `exec 3<&0; "${process.execPath}" "${pipeLauncher}" serve <&3; true`
    const host = spawn('sh', ['-c', script], { env: world.env({ RELAY_AGENT_NAME: 'Other' }), stdio: 'pipe' })
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    host.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    await once(host.stdout, 'data')
    await lead.send('Other', 'not for you')
    expect(await run(world.env(), 'Stop')).toEqual(silence)
    host.stdin.end()
    await once(host, 'close')
  })
})
