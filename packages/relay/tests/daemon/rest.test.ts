// Workspaces that nobody uses are closed, and callers do not notice: by the socket, with a key or token, by an address, on the page.

import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts'
import { freeClosedFiles } from '../../src/store/database.ts'

/** Shorter than anything a test does. */
const idleMs = 40

let dir: string
let daemon: Daemon
const troubles: Error[] = []
const clients: RelayClient[] = []

async function start(more: Partial<DaemonOptions> = {}): Promise<Daemon> {
  const options = {
    ...{
      dataDir: dir,
      credentialsPath: join(dir, 'credentials.json'),
      http: { port: 0 },
      restLimits: { idleMs, closedMax: 1 },
    },
    onTrouble: (error: Error) => void troubles.push(error),
    onStop: () => {},
  }
  daemon = (await Daemon.start({ ...options, ...more })) as Daemon
  return daemon
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'relay-rest-'))
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.disconnect()
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
  expect(troubles.splice(0)).toEqual([])
})

/** Whether this process has a file of one of the workspaces open. */
function isOpen(...names: string[]): boolean {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return links.some((path) => names.some((name) => path.startsWith(join(dir, 'projects', name))))
}

async function rest(...names: string[]): Promise<void> {
  // What this test's own clients and its former daemons still held is freed here; a daemon that has closed nothing is not helped by it. Freeing collects the
  // garbage of all tests in this process, so it comes ever less often.
  let looks = 0
  await until(() => {
    looks++
    if (looks >= 16 && Math.log2(looks) % 1 === 0) void freeClosedFiles()
    return !isOpen(...names)
  })
}

async function client(socketPath: string, agentName: string): Promise<RelayClient> {
  const made = new RelayClient({ connect: socketConnector(socketPath), agentName, autoConnect: false })
  clients.push(made)
  await made.connect()
  return made
}

/** A pipe over HTTP that has not said who it is. */
function upgrade({ hostname, port }: URL, key: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.on('data', (data) => (/^HTTP\/1.1 101/.test(data.toString()) ? resolve(socket) : reject(data.toString())))
    const head = ['GET /pipe HTTP/1.1', `Host: ${hostname}:${port}`, 'Connection: Upgrade', 'Upgrade: agent-relay-pipe']
    socket.write(`${[...head, `Authorization: Bearer ${key}`].join('\r\n')}\r\n\r\n`)
  })
}

describe.runIf(process.platform === 'linux')('a workspace that nobody uses', () => {
  it('is closed, and opened again for the first connection to its socket', async () => {
    const { entry } = await (await start()).open('one')
    const ada = await client(entry.socketPath, 'ada')
    await ada.send('#general', 'first')
    await aWhile(4 * idleMs)
    expect(isOpen('one')).toBe(true)
    await ada.disconnect()
    await rest('one')
    const bob = await client(entry.socketPath, 'bob')
    expect((await bob.call('workspace.status', {})).messages).toBe(1)
    expect(isOpen('one')).toBe(true)
  })

  it('takes messages from another workspace, and stores them before it says so', async () => {
    await start()
    const socketOf = async (name: string) => (await daemon.open(name)).entry.socketPath
    const [home, other] = [await socketOf('home'), await socketOf('other')]
    await (await client(other, 'bob')).disconnect()
    const ada = await client(home, 'ada')
    await rest('other')
    const sent = await ada.send('other:bob', 'are you there?')
    expect(sent.away).toEqual(['other:bob'])
    await rest('other')
    const { receipts } = await ada.call('message.receipts', { message: sent.id })
    expect(receipts).toMatchObject([{ agent: 'other:bob' }])
    await rest('other')
    await ada.send('*:*', 'to all')
    const bob = await client(other, 'bob')
    const bodies = (await bob.getInbox()).map(({ body }) => body)
    expect(bodies).toEqual(['are you there?', 'to all'])
    await bob.disconnect()
    await rest('other')
    const { agents } = await ada.call('agent.list', { project: 'other', includeOffline: true })
    expect(agents.map(({ name }) => name)).toContain('bob')
  })

  it('is opened by its key and by its tokens over HTTP, and by nothing else', async () => {
    const { entry, key } = await (await start()).open('one')
    const ada = await client(entry.socketPath, 'ada')
    const { token } = ada
    await ada.disconnect()
    const ask = async (credential: string, workspace?: string) => {
      const response = await fetch(`${daemon.url}/api/channel.list`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${credential}`, 'content-type': 'application/json', connection: 'close' },
          ...(workspace === undefined ? {} : { 'x-relay-workspace': workspace }),
        },
        body: '{}',
      })
      await response.text()
      return response.status
    }
    await rest('one')
    for (const wrong of ['rk_wrong', `${key}x`, 'at_wrong']) {
      expect(await ask(wrong)).toBe(401)
      expect(await ask(wrong, 'one')).toBe(401)
      expect(await ask(key as string, 'two')).toBe(401)
    }
    expect(isOpen('one')).toBe(false)
    expect(await ask(token as string)).toBe(200)
    expect(isOpen('one')).toBe(true)
    await daemon.stop()
    await start({ restLimits: { idleMs, unusedMax: 0, closedMax: 1 } })
    await rest('one')
    expect(await ask(key as string)).toBe(200)
  })

  it('is listed, found by its key and reached by its page as if it were open', async () => {
    const { key } = await (await start({ human: 'kim' })).open('one')
    await rest('one')
    const control = await socketConnector(controlSocketPath(dir))({})
    const { workspaces } = await control.call('workspace.list', {}, 'c_list')
    expect(workspaces).toMatchObject([{ name: 'one', open: true, id: expect.any(String) }])
    expect(isOpen('one')).toBe(false)
    expect(await control.call('workspace.find', { key: key as string }, 'c_find')).toMatchObject({ name: 'one' })
    const { url } = await control.call('page.link', { workspace: 'one' }, 'c_page')
    const code = new URL(url).searchParams.get('code')
    const origin = new URL(url).origin
    const headers = { 'x-relay-page': '1', origin, 'content-type': 'application/json' }
    const login = await fetch(`${origin}/session`, { method: 'POST', headers, body: JSON.stringify({ code }) })
    const cookie = (login.headers.get('set-cookie') as string).split(';')[0] as string
    await rest('one')
    expect(await (await fetch(`${origin}/session`, { headers: { cookie } })).json()).toMatchObject({ workspace: 'one' })
    await rest('one')
    await control.call('workspace.remove', { workspace: 'one' }, 'c_remove')
    expect((await control.call('workspace.list', {}, 'c_gone')).workspaces).toEqual([])
    await control.close()
  })

  it('is closed at once if many are open, but never while it is used', async () => {
    await start({ restLimits: { unusedMax: 2, closedMax: 1 } })
    const { entry } = await daemon.open('used')
    await client(entry.socketPath, 'ada')
    for (const name of ['a', 'b', 'c', 'd', 'e']) await daemon.open(name)
    await rest('b')
    expect(['used', 'a', 'b', 'c', 'd', 'e'].filter((name) => isOpen(name))).toEqual(['used', 'c', 'd', 'e'])
  })

  it('lets in many connections that come at once', async () => {
    const { entry } = await (await start()).open('one')
    await rest('one')
    const many = await Promise.all(Array.from({ length: 20 }, (_, i) => client(entry.socketPath, `agent${i}`)))
    await Promise.all(many.map((each) => each.send('#general', 'hi')))
    expect((await (many[0] as RelayClient).call('workspace.status', {})).messages).toBe(20)
  })

  it('lets connections that come while it closes wait, and stores what they send', async () => {
    // Closed as soon as nobody uses it: every call below may fall into a closing.
    const http = { port: 0, apiLimits: { idleMs: 1, sessionsMax: 50 } }
    await start({ restLimits: { idleMs: 4, unusedMax: 0 }, http })
    const { key, entry } = await daemon.open('one')
    const { socketPath } = entry
    const other = (await daemon.open('other')).entry.socketPath
    await (await client(socketPath, 'ada')).disconnect()
    const sayByHttp = async (body: string) => {
      const response = await fetch(`${daemon.url}/api/message.send`, {
        method: 'POST',
        headers: { ...{ authorization: `Bearer ${key}`, 'x-relay-agent': 'ada' }, 'content-type': 'application/json' },
        body: JSON.stringify({ to: '#general', body }),
      })
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
    }
    const sayBySocket = async (body: string) => {
      const made = await client(socketPath, `bob-${body}`)
      await made.send('#general', body)
      await made.disconnect()
    }
    const bob = await client(other, 'bob')
    const ways = [sayBySocket, sayByHttp, (body: string) => bob.send('one:*', body)]
    const said: string[] = []
    for (let round = 0; round < sized(6, 24); round++) {
      const body = `m${round}`
      await Promise.all([ways[round % 3]?.(body), daemon.open(`more${round % 4}`)])
      said.push(body)
      await aWhile(round % 7)
    }
    const reader = await client(socketPath, 'reader')
    expect((await reader.call('workspace.status', {})).messages).toBe(said.length)
  })

  it('is not closed under a pipe that has not said HELLO, or a wait', async () => {
    await start({ restLimits: { idleMs, unusedMax: 0, closedMax: 1 } })
    const { entry, key } = await daemon.open('one')
    const pipe = await upgrade(new URL(daemon.url as string), key as string)
    await aWhile(4 * idleMs)
    expect(isOpen('one')).toBe(true)
    pipe.destroy()
    await rest('one')
    const [ada, bob] = [await client(entry.socketPath, 'ada'), await client(entry.socketPath, 'bob')]
    const waiting = ada.sendAndWait('bob', 'well?')
    await aWhile(4 * idleMs)
    await bob.send('ada', 'well!')
    expect((await waiting).body).toBe('well!')
  })

  it('looking for an unknown message opens only a few workspaces at rest', async () => {
    // Freeing what was closed collects the garbage of this whole process: not after some of them, but once.
    await start({ restLimits: { unusedMax: 0, closedMax: 100, idleMs: 400 } })
    const { entry } = await daemon.open('home')
    const ada = await client(entry.socketPath, 'ada')
    const names = Array.from({ length: 18 }, (_, i) => `w${i}`)
    await Promise.all(names.map((name) => daemon.open(name)))
    const changes = () => names.map((name) => statSync(join(dir, 'projects', name)).mtimeMs)
    await rest(...names)
    const before = changes()
    await expect(ada.call('message.receipts', { message: 'm_none' })).rejects.toMatchObject({ code: 'message.unknown' })
    // Opening makes a log beside the database, closing takes it away.
    const opened = changes().filter((at, i) => at !== before[i])
    expect(opened.length).toBeGreaterThan(0)
    expect(opened.length).toBeLessThanOrEqual(16)
  })
})
