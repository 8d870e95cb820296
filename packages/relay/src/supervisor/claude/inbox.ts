// A Unix socket of the daemon beside the sockets of Claude Code's sessions. The daemon sends to a session's socket and names this socket as the
// sender. Sessions report here which messages their model does not get (held, refused, dropped), and their models' replies arrive here. What arrives
// is not authenticated and gives no rights: no other user can write to the sockets' folder, but every program of this user can.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { type ClaudeSession, isWritableByUserOnly } from './registry.ts'

/** Maximum size of a frame in bytes: enough for the longest message body with its characters escaped. */
const sessionFrameBytesMax = 2 * 1024 * 1024
const connectionsMax = 64
/** Idle timeout of an incoming connection: a session sends one frame and closes the connection. */
const connectionMs = 5_000
const writeMs = 5_000

const Id = z.string().max(limits.idCharsMax)
const PeerMessageStatus = z.object({
  type: z.literal('control'),
  action: z.literal('peer_message_status'),
  status: z.string().max(100),
  status_detail: z.string().max(100).optional(),
  orig_msg_id: Id,
})
const PeerMessage = z.object({
  type: z.literal('user'),
  msg_id: Id,
  from: z.string().max(300),
  message: z.object({ content: z.string() }),
})

/** The state of a message as its session reports it: waiting in the session (`held`), let through (`released`), or never to reach the model. */
export type DeliveryOutcome = 'held' | 'released' | 'refused' | 'dropped' | 'expired'
const outcomeByStatus: Readonly<Record<string, DeliveryOutcome>> = {
  held: 'held',
  delivered: 'released',
  refused: 'refused',
  dropped: 'dropped',
  expired: 'expired',
  denied: 'expired',
}

export interface IncomingText {
  id: string
  /** The socket of the session that the sender claims to be. */
  socketPath: string
  text: string
}

export interface ClaudeInboxListener {
  onOutcome(id: string, outcome: DeliveryOutcome): void
  onText(said: IncomingText): void
}

export interface OutgoingText {
  id: string
  /** The sender's name. */
  name: string
  text: string
}

export class ClaudeInbox {
  readonly path: string
  readonly #server: Server
  readonly #listener: ClaudeInboxListener
  readonly #sockets = new Set<Socket>()

  private constructor(path: string, listener: ClaudeInboxListener) {
    this.path = path
    this.#listener = listener
    this.#server = createServer((socket) => this.#readFrames(socket))
    this.#server.maxConnections = connectionsMax
  }

  /**
   * Opens the socket in the folder of the sessions' sockets. Its file is named as sessions expect: after the process number of this daemon, or of an
   * agent's process that is not a session of Claude Code.
   */
  static async open(folder: string, pid: number, listener: ClaudeInboxListener): Promise<ClaudeInbox> {
    if (!isWritableByUserOnly(lstatSync(folder))) throw new Error(`${folder} is not a folder of this user alone`)
    const inbox = new ClaudeInbox(join(folder, `${pid}.sock`), listener)
    await removeUnservedSocket(inbox.path)
    await once(inbox.#server.listen(inbox.path), 'listening')
    inbox.#server.on('error', () => {})
    inbox.#server.unref()
    return inbox
  }

  /** Resolves once the message is written to the session's socket. Whether the session's model gets the message is not known then. */
  send({ socketPath, token }: ClaudeSession, { id, name, text }: OutgoingText): Promise<void> {
    const from = `uds:${this.path}`
    // The sender claims the lowest permission mode, in which a person is asked about each step.
    const head = `<cross-session-message from="${from}" from-name="${name}" from-mode="prompting">`
    const content = `${head}\n${text.replaceAll('</cross-session', '<\\/cross-session')}\n</cross-session-message>`
    const message = { type: 'user', message: { role: 'user', content }, priority: 'next', from }
    const frames = [
      { type: 'auth', token },
      { msgV: 1, msg_id: id, ...message },
    ]
    return new Promise((resolve, reject) => {
      const socket = connect(socketPath)
      socket.setTimeout(writeMs, () => socket.destroy(new Error('the session does not read')))
      socket.on('error', reject)
      socket.on('data', () => {})
      socket.on('close', () => resolve())
      socket.end(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''))
    })
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    rmSync(this.path, { force: true })
  }

  #readFrames(socket: Socket): void {
    this.#sockets.add(socket)
    const parts: Buffer[] = []
    let bytes = 0
    socket.setTimeout(connectionMs, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (data: Buffer) => {
      bytes += data.length
      if (bytes > sessionFrameBytesMax) return void socket.destroy()
      parts.push(data)
      if (!data.includes('\n')) return
      const lines = Buffer.concat(parts.splice(0)).toString('utf8').split('\n')
      const rest = Buffer.from(lines.pop() ?? '')
      parts.push(rest)
      bytes = rest.length
      for (const line of lines) this.#handleFrame(line)
    })
  }

  #handleFrame(line: string): void {
    let value: unknown
    try {
      value = parseJson(line)
    } catch {
      return
    }
    const status = PeerMessageStatus.safeParse(value)
    if (status.success) {
      const outcome = outcomeByStatus[status.data.status_detail ?? ''] ?? outcomeByStatus[status.data.status]
      if (outcome) this.#listener.onOutcome(status.data.orig_msg_id, outcome)
      return
    }
    const said = PeerMessage.safeParse(value)
    if (!said.success || !said.data.from.startsWith('uds:')) return
    const { msg_id: id, from, message } = said.data
    this.#listener.onText({ id, socketPath: from.slice('uds:'.length), text: withoutWrapper(message.content) })
  }
}

export const newTextId = (): string => randomUUID()

/** Returns the text that the model wrote, without the tag `cross-session-message` around it. */
function withoutWrapper(content: string): string {
  const [, text] = /^<cross-session-message [^>\n]*>\n([\s\S]*)\n<\/cross-session-message>$/.exec(content) ?? []
  return text ?? content
}

/** Removes the socket of a killed daemon. A socket that accepts connections is kept: another process has the same process number now. */
export const removeDeadSocket = (path: string): void => void removeUnservedSocket(path)

/** Removes a socket on which no process listens. */
async function removeUnservedSocket(path: string): Promise<void> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return
  const isDead = await new Promise<boolean>((resolve) => {
    const socket = connect(path)
    socket.on('connect', () => resolve(false)).on('connect', () => socket.destroy())
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'))
  })
  if (isDead) rmSync(path, { force: true })
}
