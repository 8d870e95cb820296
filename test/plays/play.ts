// A play: actors who talk over a link, and what each of them must see. Every play runs on every link unless it says why not.

import {
  type Closing,
  type Connector,
  type RelayError,
  type RelayEvent,
  type SendOptions,
  WorkspaceClient,
} from '@agent-relay/sdk'
import type {
  CallName,
  InboxMessage,
  InputOf,
  Message,
  OutputOf,
  Receipt,
  RefusalCode,
} from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import { PlayClock } from './clock.ts'
import { type DaemonHouse, type House, houseOf, type LinkKind, links, type ProcessHouse } from './houses.ts'

export interface Part {
  name?: string
  token?: string
  key?: string
  type?: 'agent' | 'human'
  strict?: boolean
  handle?: string
  role?: 'lead'
  parent?: string
  channels?: string[]
  /** Its workspace; `main` unless said. */
  workspace?: string
}

export interface Stage {
  ada: Actor
  bob: Actor
  cy: Actor
  clock: PlayClock
  house: House
  /** Another actor, or another session of the same. */
  enter(part: Part): Promise<Actor>
  /** The workspace key. */
  key(workspace?: string): string
  openWorkspace(name: string): Promise<void>
}

type Scene<S = Stage> = (stage: S) => Promise<void>

const mainWorkspace = 'main'

export function play(name: string, scene: Scene): void {
  for (const kind of links) test(`${name} (${kind})`, () => perform(kind, scene))
}

/** For what only a daemon can do: stopping, starting again, the control socket. */
export function playOnSocket(name: string, scene: Scene<Stage & { house: DaemonHouse }>): void {
  test(`${name} (socket)`, () => perform('socket', scene as Scene))
}

/** For what no socket offers: the sessions of models, which the daemon itself opens. */
export function playInProcess(name: string, scene: Scene<Stage & { house: ProcessHouse }>): void {
  test(`${name} (in process)`, () => perform('in process', scene as Scene))
}

async function perform(kind: LinkKind, scene: Scene): Promise<void> {
  const clock = new PlayClock()
  const house = await houseOf(kind, clock)
  const actors: Actor[] = []
  const enter = async ({ workspace = mainWorkspace, ...part }: Part): Promise<Actor> => {
    const actor = new Actor(house.connector(workspace), part)
    actors.push(actor)
    await actor.client.connect()
    return actor
  }
  try {
    await house.open(mainWorkspace)
    const [ada, bob, cy] = [await enter({ name: 'ada' }), await enter({ name: 'bob' }), await enter({ name: 'cy' })]
    const key = (workspace = mainWorkspace) => house.key(workspace)
    await scene({ ada, bob, cy, clock, house, enter, key, openWorkspace: (name) => house.open(name) })
  } finally {
    for (const actor of actors) await actor.leaves()
    await house.close()
  }
}

/** Whoever speaks and listens. What it says of itself in a play reads as a sentence: `await bob.takes('hello')`. */
export class Actor {
  readonly client: WorkspaceClient
  readonly errors: RelayError[] = []
  readonly closings: Closing[] = []

  constructor(connect: Connector, { name, type, ...rest }: Omit<Part, 'workspace'>) {
    this.client = new WorkspaceClient(connect, { agentName: name, agentType: type, autoConnect: false, ...rest })
    this.client.on('error', (error) => this.errors.push(error))
    this.client.on('disconnect', (closing) => this.closings.push(closing))
  }

  get name(): string {
    return this.client.agentName as string
  }

  get token(): string {
    return this.client.token as string
  }

  call<O extends CallName>(op: O, input: InputOf<O>, id?: string): Promise<OutputOf<O>> {
    return this.client.call(op, input, id === undefined ? {} : { id })
  }

  // Speaking

  send(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.send'>> {
    return this.client.send(to, body, options)
  }

  /** Sends and waits; the promise is the reply. */
  asks(to: string | string[], body: string, options: SendOptions & { timeoutMs?: number } = {}): Promise<Message> {
    const { timeoutMs, ...rest } = options
    const wait = timeoutMs === undefined ? {} : { timeoutMs }
    const reply = this.call('message.send', { to, body, ...rest, wait }).then(({ reply }) => reply as Message)
    // Looked at later in the play, if it is refused meanwhile.
    reply.catch(() => {})
    return reply
  }

  // Listening

  /** Takes the inbox: exactly these, in this order. */
  async takes(...bodies: string[]): Promise<InboxMessage[]> {
    return this.takesOf({}, ...bodies)
  }

  async takesOf(filter: InputOf<'inbox.take'>, ...bodies: string[]): Promise<InboxMessage[]> {
    const { messages } = await this.call('inbox.take', filter)
    expect(bodiesOf(messages)).toEqual(bodies)
    return messages
  }

  /** Takes these, perhaps only after a while: another session's end may still be on its way. */
  async takesSoon(...bodies: string[]): Promise<void> {
    const got: string[] = []
    await eventually(async () => {
      got.push(...bodiesOf((await this.call('inbox.take', {})).messages))
      expect(got).toEqual(bodies)
    })
  }

  async peeks(...bodies: string[]): Promise<InboxMessage[]> {
    return this.peeksAt({}, ...bodies)
  }

  async peeksAt(filter: InputOf<'inbox.peek'>, ...bodies: string[]): Promise<InboxMessage[]> {
    const { messages } = await this.call('inbox.peek', filter)
    expect(bodiesOf(messages)).toEqual(bodies)
    return messages
  }

  async reads(messages: string[] | { thread: string }): Promise<number> {
    const input = Array.isArray(messages) ? { messages } : messages
    return (await this.call('inbox.read', input)).read
  }

  /** Any call that changes nothing: what was taken before counts as read now. */
  async comesBack(): Promise<void> {
    await this.call('workspace.status', {})
  }

  async receipts(message: string): Promise<Record<string, Receipt>> {
    const { receipts } = await this.call('message.receipts', { message })
    return Object.fromEntries(receipts.map((receipt) => [receipt.agent, receipt]))
  }

  /** What happens to the inbox from now on, as it is delivered. */
  listens(): { bodies: string[]; hears(...bodies: string[]): Promise<void>; stop(): void } {
    const bodies: string[] = []
    const heard = ({ body }: { body: string }) => void bodies.push(body)
    this.client.on('message', heard)
    const hears = async (...wanted: string[]) => {
      await eventually(() => expect(bodies).toEqual(wanted))
    }
    return { bodies, hears, stop: () => void this.client.off('message', heard) }
  }

  async watches(filter: InputOf<'event.follow'>): Promise<{ events: RelayEvent[]; stop(): void }> {
    const events: RelayEvent[] = []
    const watch = this.client.watch(filter, (event) => events.push(event))
    await watch.ready
    return { events, stop: () => watch.stop() }
  }

  /** Its session ends; its name stays. */
  async leaves(): Promise<void> {
    await this.client.disconnect()
  }
}

export function bodiesOf(messages: readonly { body: string }[]): string[] {
  return messages.map(({ body }) => body)
}

/** It is refused, with this code and in words like these; what the refusal tells beside them is answered. */
export async function refused(call: Promise<unknown>, code: RefusalCode, words: RegExp): Promise<RelayError> {
  const error = await call.then(
    () => {
      throw new Error(`should have been refused with ${code}`)
    },
    (reason: RelayError) => reason,
  )
  expect(error.message).toMatch(words)
  expect(error.code).toBe(code)
  return error
}

/** A hint may be late: look until it is so. */
export async function eventually(look: () => void | Promise<void>, withinMs = 3_000): Promise<void> {
  for (const until = Date.now() + withinMs; ; ) {
    try {
      await look()
      return
    } catch (error) {
      if (Date.now() > until) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
