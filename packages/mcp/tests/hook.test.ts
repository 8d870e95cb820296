// The hook as a CLI runs it: a process of its own beside the agent's MCP session, on a real daemon.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect as connectTo, createServer } from 'node:net'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/until.ts'
import { call, type Env, type Json, outcomeOf, PipeWorld, pipeLauncher } from './pipe-world.ts'

let world: PipeWorld
let lead: RelayClient
const clients: RelayClient[] = []
const children: ChildProcess[] = []
beforeAll(async () => {
  world = await PipeWorld.start()
  lead = await connect('Lead')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
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
  children.push(child)
  return { child, ended: outcomeOf(child) }
}

/** An agent of this process, which is the host of its hooks too; it is gone when the test is over. */
async function ownSession(name: string): Promise<Client> {
  const own = await world.client(name)
  onTestFinished(async () => {
    await own.close()
    await until(async () => (await reached(name)) === undefined)
  })
  await call(own, 'relay_status')
  return own
}

/** It has said who it is, and has asked its question. */
async function isThere(name: string): Promise<void> {
  await until(async () => (await reached(name)) === 'wakes')
}

const reached = async (name: string) =>
  (await lead.call('agent.list', { includeOffline: true })).agents.find((agent) => agent.name === name)?.reached
/** Of a host that has nothing to tell it. */
function run(env: Env, ...args: string[]) {
  const { child, ended } = start(env, ...args)
  child.stdin.end()
  return ended
}
const silence = { code: 0, stdout: '', stderr: '' }
const receipt = async (id: string): Promise<Json> => (await lead.call('message.receipts', { message: id })).receipts[0]

describe('a session of a person that resumes before its MCP server has come', () => {
  /** As a host with these hooks runs them: this process is the host, and has started no MCP server before. */
  const begin = async (source: string, cli: string) => {
    const { child, ended } = start(world.env({ RELAY_HOST: String(process.pid) }), 'SessionStart', '--cli', cli)
    child.stdin.end(JSON.stringify({ hook_event_name: 'SessionStart', source }))
    return ended
  }
  const left = () => existsSync(join(world.root, 'hooks', `brief.${process.pid}`))

  test.each(['resume', 'clear'])('is briefed by its next hook after a %s, once', async (source) => {
    const cli = source === 'clear' ? 'gemini' : 'claude'
    expect(await begin(source, cli)).toEqual(silence)
    expect(left()).toBe(true)
    const env = world.env({ RELAY_HOST: String(process.pid) })
    if (source === 'resume') expect([await run(env, 'UserPromptSubmit'), left()]).toEqual([silence, true])
    const name = `host-${source}-${++count}`
    await ownSession(name)
    const event = source === 'clear' ? 'BeforeAgent' : 'UserPromptSubmit'
    const { stdout } = await run(env, event, '--cli', cli)
    expect(JSON.parse(stdout).hookSpecificOutput.additionalContext).toBe(`Relay brief: you are ${name}.`)
    expect([await run(env, event, '--cli', cli), left()]).toEqual([silence, false])
  })

  test('is briefed with the mail that wakes it, and not woken for the brief', async () => {
    expect(await begin('resume', 'claude')).toEqual(silence)
    const name = `host-mail-${++count}`
    await ownSession(name)
    const env = world.env({ RELAY_HOST: String(process.pid) })
    expect([await run(env, 'rewake'), left()]).toEqual([silence, true])
    await lead.send(name, 'wake up')
    const { code, stderr } = await run(env, 'rewake')
    expect([code, left()]).toEqual([2, false])
    expect(stderr).toMatch(/^Relay brief: you are [\s\S]*: wake up\n/)
  })
})

test('the hooks of a session that begins, run at once: what one has shown the other does not show again', async () => {
  const { name, env } = await agent()
  const { id } = await lead.send(name, 'once')
  // Everything that the hook of the beginning says waits here until the other one has shown the message.
  const latePath = join(world.root, `late-${count}.sock`)
  const late = createServer({ pauseOnConnect: true }).listen(latePath)
  onTestFinished(() => void late.close())
  const came = once(late, 'connection')
  const first = start({ ...env, RELAY_SOCKET: latePath }, 'sessionStart', '--cli', 'copilot')
  first.child.stdin.end(JSON.stringify({ source: 'new' }))
  const [socket] = await came
  expect((await run(env, 'userPromptSubmitted', '--cli', 'copilot')).stdout).toContain(`[${id}]`)
  const toDaemon = connectTo(world.socketPath)
  for (const end of [socket, toDaemon]) end.on('error', () => {})
  socket.pipe(toDaemon).pipe(socket)
  expect(await first.ended).toEqual(silence)
  // The next session has not seen it.
  expect((await run(env, 'sessionStart', '--cli', 'copilot')).stdout).toContain(`[${id}]`)
})

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

describe('after a compaction, a resume or a clear', () => {
  /** As a CLI tells it: JSON on stdin. */
  const begin = async (env: Env, source: string, cli = 'claude') => {
    const { child, ended } = start(env, 'SessionStart', '--cli', cli)
    child.stdin.end(JSON.stringify({ session_id: 's', hook_event_name: 'SessionStart', source }))
    const { stdout } = await ended
    return stdout === '' ? '' : (JSON.parse(stdout).hookSpecificOutput.additionalContext as string)
  }

  test.each(['compact', 'resume', 'clear'])('%s: the brief, then what waits, each once', async (source) => {
    const { name, env } = await agent()
    const { id } = await lead.send(name, 'review 12?', { kind: 'question' })
    expect((await begin(env, source)).replace(/\(\d+ (?:s|min) ago\)/, '(0 s ago)')).toBe(
      [
        `Relay brief: you are ${name}.`,
        '1 unread message follows.',
        'You owe Lead an answer: "review 12?" (0 s ago).',
        `Relay message from Lead [${id}] [question]: review 12?`,
        'Answer with mcp__agent-relay__relay_send(to="Lead").',
      ].join('\n'),
    )
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'hook' })
    expect(await run(env, 'UserPromptSubmit')).toEqual(silence)
    expect(await run(env, 'Stop')).toEqual(silence)
  })

  test('what was put before it already is handed over again to a session that resumes or is cleared, not to one that goes on', async () => {
    const { name, env } = await agent()
    await lead.send(name, 'hello')
    expect((await run(env, 'UserPromptSubmit')).stdout).toContain('hello')
    expect(await begin(env, 'compact')).not.toContain('hello')
    expect(await begin(env, 'resume')).toContain('hello')
    expect(await begin(env, 'clear')).toContain('hello')
  })

  test('what does not fit after a clear is counted, and is not read by the next call', async () => {
    const { name, env } = await agent()
    const pipe = world.pipe(env)
    await pipe.initialize()
    for (let i = 0; i < 10; i++) await lead.send(name, `note ${i}`)
    expect((await run(env, 'Stop')).stdout).toContain('note 9')
    const told = await begin(env, 'clear')
    expect(told).toContain('8 unread messages follow.\n2 more unread: Lead. Call relay_inbox.')
    expect(told).not.toContain('note 8')
    expect(await pipe.call('relay_inbox')).toMatch(/note 8.*note 9/s)
  })

  test('in tags of ours where the host has none', async () => {
    const { name, env } = await agent()
    expect(await begin(env, 'compact', 'codex')).toBe(
      `<system-reminder>\nRelay brief: you are ${name}.\n</system-reminder>`,
    )
  })

  test('a session that starts is told its mail alone, and so is one whose host says nothing or nonsense', async () => {
    const { name, env } = await agent()
    expect(await begin(env, 'startup')).toBe('')
    await lead.send(name, 'hello')
    for (const source of ['startup', '__proto__'])
      expect(await begin(env, source)).toMatch(/^Relay message from Lead \[m_\w+\]: hello\n/)
    const { child, ended } = start(env, 'SessionStart')
    child.stdin.end('{"source":')
    expect((await ended).stdout).not.toContain('brief')
    // This one leaves its end open.
    const { stdout } = await start(env, 'SessionStart').ended
    expect([stdout.includes(': hello'), stdout.includes('brief')]).toEqual([true, false])
  })
})

test('Copilot CLI takes the context as a key of the answer', async () => {
  const { name, env } = await agent()
  for (const event of ['sessionStart', 'userPromptSubmitted']) {
    await lead.send(name, `at ${event}`)
    const { additionalContext } = JSON.parse((await run(env, event, '--cli', 'copilot')).stdout)
    expect(additionalContext).toContain(`at ${event}\nAnswer with agent-relay-relay_send(to="Lead").`)
  }
  await lead.send(name, 'at the end')
  expect(JSON.parse((await run(env, 'agentStop', '--cli', 'copilot')).stdout)).toMatchObject({ decision: 'block' })
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

  test('when the host dies, the message is still in the inbox and a new session is told', async () => {
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
    await until(async () => (await reached(name)) === 'wakes')
    expect(waiter.child.exitCode).toBeNull()
    await taker.disconnect()
    expect(await waiter.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('taken, not shown') })
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'rewake' })
  })

  test.each([
    ['Stop', 'stdout'],
    ['wait', 'stderr'],
  ] as const)('%s: what is printed where nobody reads any more was not shown', async (event, stream) => {
    const { name, env } = await agent()
    const { id } = await lead.send(name, 'for nobody')
    const { child, ended } = start(env, event)
    child[stream].destroy()
    expect(await ended).toMatchObject({ code: 0 })
    // It is held until the daemon has noticed that the hook is gone.
    await until(async () => (await receipt(id)).heldUntil === undefined)
    expect(await receipt(id)).toEqual({ agent: name, state: 'stored', storedAt: expect.any(String) })
    expect((await run(env, 'Stop')).stdout).toContain('for nobody')
  })

  test('messages that the agent holds already are not told again', async () => {
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
    expect(await receipt(id)).toMatchObject({ state: 'offered', route: 'rewake' })
  })

  test('only the newest waiter is answered', async () => {
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
    const { ended } = start(env, 'wait')
    await isThere(name)
    await lead.send(other.name, 'to another')
    await lead.send(name, 'to this one')
    const { code, stderr } = await ended
    expect([code, stderr.includes('to another'), stderr.includes('to this one')]).toEqual([2, false, true])
  })

  test('a waiter that was killed has taken no message', async () => {
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
    ['a token without a name', { RELAY_AGENT_NAME: '' }],
    ['an unexpanded name', { RELAY_AGENT_NAME: '${RELAY_AGENT_NAME}' }],
    ['a wrong token', { RELAY_AGENT_TOKEN: 'at_wrong' }],
    ['no daemon', { RELAY_SOCKET: '/nonexistent/daemon.sock' }],
  ])('%s: silence', async (_, extra) => {
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: only there
    const { name, env } = await agent()
    await lead.send(name, 'hidden')
    for (const event of ['Stop', 'wait']) expect(await run({ ...env, ...extra }, event)).toEqual(silence)
  })

  test('prints nothing if no message waits or the CLI is unknown', async () => {
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

  /** A daemon that stops answering: at once, or when it is told that the messages were shown. */
  async function failing(answers: Record<string, object>) {
    const { env } = await agent()
    const socketPath = join(world.root, `failing-${count}.sock`)
    const server = createServer((socket) => {
      socket.on('data', (chunk) => {
        const { id, payload } = JSON.parse(String(chunk))
        const answer = answers[payload.op ?? 'HELLO']
        if (answer) socket.write(`${JSON.stringify({ v: 1, type: 'ACK', id, payload: answer })}\n`)
        else if (payload.op === 'inbox.offer') socket.destroy()
      })
    })
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
    return run({ ...env, RELAY_SOCKET: socketPath }, 'rewake')
  }

  test('a daemon that does not answer keeps nobody', async () => {
    expect(await failing({})).toEqual(silence)
  })

  test('a daemon that goes once it was told: what it may have counted as shown is shown', async () => {
    const messages = [{ id: 'm_1', from: 'Lead', body: 'counted', conversation: 'dm:Lead' }]
    expect(await failing({ HELLO: {}, 'inbox.take': { messages } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('counted'),
    })
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

  test('prints nothing while the host has started no agent', async () => {
    expect(await run(world.env(), 'Stop')).toEqual(silence)
  })

  test('what waits is offered by the hook, and read at the next call', async () => {
    const own = await world.client('claude-code')
    await call(own, 'relay_status')
    expect(await reached('claude-code')).toBe('at next call')
    const { id } = await lead.send('claude-code', 'for your own session')
    expect(await throughShells('Stop')).toContain('for your own session')
    expect(await receipt(id)).toMatchObject({ agent: 'claude-code', state: 'offered', route: 'hook' })
    expect(await run(world.env(), 'Stop')).toEqual(silence)
    expect(await reached('claude-code')).toBe('at next turn')
    await call(own, 'relay_status')
    expect(await receipt(id)).toMatchObject({ state: 'read' })
    const second = await lead.send('claude-code', 'and this')
    expect(JSON.stringify(await call(own, 'relay_inbox'))).toContain('and this')
    expect(await receipt(second.id)).toMatchObject({ state: 'offered', route: 'tool' })
    await lead.send('claude-code', 'by the name that the person gave')
    const named = world.env({ RELAY_AGENT_NAME: 'claude-code', RELAY_AGENT_TOKEN: '' })
    expect((await run(named, 'Stop')).stdout).toContain('by the name that the person gave')
    await own.close()
    await until(async () => (await reached('claude-code')) === undefined)
  })

  test('does not speak for the agent that runs its host as a command', async () => {
    const own = await world.client('outer')
    await call(own, 'relay_status')
    await lead.send('outer', 'for the outer model')
    const command = JSON.stringify(`"${process.execPath}" "${pipeLauncher}" hook Stop; true`)
    const inner = `require('child_process').spawnSync('sh', ['-c', ${command}], { stdio: 'inherit' })`
    const host = spawn(process.execPath, ['-e', inner], { env: world.env(), cwd: world.root, stdio: 'pipe' })
    let stdout = ''
    host.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    await once(host, 'close')
    expect(stdout).toBe('')
    expect(await throughShells('Stop')).toContain('for the outer model')
    await own.close()
  })

  test('names the tools that the session has', async () => {
    const own = await world.client('claude-code', { RELAY_AGENT_NAME: 'Wes', RELAY_TOOLS: 'workspace' })
    await call(own, 'workspace_status')
    for (let n = 0; n < 10; n++) await lead.send('Wes', `question ${n}`)
    const { child, ended } = start(world.env(), 'SessionStart', '--cli', 'claude')
    child.stdin.end(JSON.stringify({ source: 'compact' }))
    const { stdout } = await ended
    expect(stdout).toContain('2 more unread: Lead. Call list_inbox.')
    expect(stdout).toContain('Answer with mcp__agent-relay__send_message(to=')
    expect(stdout).not.toContain('relay_send')
    await own.close()
    await until(async () => (await reached('Wes')) === undefined)
  })

  test('of Codex, whose server starts those of all conversations, it speaks for the agent of its own conversation', async () => {
    const names = ['Ann', 'Ben']
    const [ann, ben] = (await Promise.all(
      names.map((name) => world.client('codex-mcp-client', { RELAY_AGENT_NAME: name })),
    )) as [Client, Client]
    const hook = (said: string, event = 'UserPromptSubmit') => {
      const { child, ended } = start(world.env(), event, '--cli', 'codex')
      child.stdin.end(said)
      return ended
    }
    const inside = (thread: string) => hook(JSON.stringify({ session_id: thread }))
    const calls = (own: Client, threadId: string) =>
      own.callTool({ name: 'relay_status', arguments: {}, _meta: { threadId } })
    await calls(ann, 'of-ann')
    await lead.send('Ann', 'for Ann')
    // Ben has made no call yet: nobody knows which conversation is Ben's.
    expect(await inside('of-ben')).toEqual(silence)
    expect(await hook('{"session_id":"of-ben","source":"compact"}', 'SessionStart')).toEqual(silence)
    await calls(ben, 'of-ben')
    for (const said of ['', 'null', '{"session_id":7}']) expect(await hook(said)).toEqual(silence)
    const { stdout } = await inside('of-ann')
    expect(stdout).toContain('for Ann')
    // The brief that Ben is still to be given is Ben's.
    expect(stdout).not.toContain('Relay brief')
    expect((await inside('of-ben')).stdout).toContain('Relay brief: you are Ben.')
    expect(await inside('of-ben')).toEqual(silence)
    for (const own of [ann, ben]) await own.close()
    for (const name of names) await until(async () => (await reached(name)) === undefined)
  })

  test('does not speak for the agent of another host that is not an ancestor', async () => {
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
