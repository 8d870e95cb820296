// A play: actors who talk over a link, and what each of them must see. Every play runs on every stage unless it says why not.

import type { RelayError, RelayEvent } from '@agent-relay/sdk'
import { type EventFilter, type SendOptions, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import type {
  CallName,
  InboxMessage,
  InputOf,
  Message,
  OutputOf,
  Receipt,
  RefusalCode,
} from '@agent-relay/sdk/protocol'
import type { Closing, Connector } from '@agent-relay/sdk/wire'
import { afterAll, expect, test } from 'vitest'
import { until } from '../until.ts'
import { PlayClock } from './clock.ts'
import { type DaemonHouse, type House, houseOf, type ProcessHouse, type StageKind, stages } from './houses.ts'

export interface Part {
  name?: string
  token?: string
  key?: string
  type?: 'agent' | 'human'
  cli?: string
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

if (stages.includes('shared')) afterAll(async () => (await import('./shared-house.ts')).endServer())

export function play(name: string, scene: Scene): void {
  for (const kind of stages) test(`${name} (${kind})`, () => perform(kind, scene))
}

/** For what concerns one computer by its nature, such as the files of a checkout: of two machines that share the workspace, all live on one. */
export function playOnOneMachine(name: string, scene: Scene): void {
  for (const kind of stages) test(`${name} (${kind})`, () => perform(kind, scene, true))
}

/** For what has no meaning where several machines share a workspace; `_why` says why. */
export function playAlone(name: string, _why: string, scene: Scene): void {
  for (const kind of stages.filter((each) => each !== 'shared')) test(`${name} (${kind})`, () => perform(kind, scene))
}

/** For what only a daemon can do: stopping, starting again, the control socket. */
export function playOnSocket(name: string, scene: Scene<Stage & { house: DaemonHouse }>): void {
  test(`${name} (socket)`, () => perform('socket', scene as Scene))
}

/** For what no socket offers: the sessions of models, which the daemon itself opens. */
export function playInProcess(name: string, scene: Scene<Stage & { house: ProcessHouse }>): void {
  test(`${name} (in process)`, () => perform('in process', scene as Scene))
}

async function perform(kind: StageKind, scene: Scene, isBeside = false): Promise<void> {
  const clock = new PlayClock()
  const house = await houseOf(kind, clock)
  const actors: Actor[] = []
  const enter = async ({ workspace = mainWorkspace, ...part }: Part): Promise<Actor> => {
    // A token says who comes.
    const named = actors.find(({ client }) => part.token !== undefined && client.token === part.token)
    const actor = new Actor(house.connector(workspace, { name: part.name ?? named?.name, isBeside }), part)
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

/** Somebody in a play who sends and receives. A line of a play reads as a sentence: `await bob.takes('hello')`. */
export class Actor {
  readonly client: WorkspaceClient
  readonly errors: RelayError[] = []
  readonly closings: Closing[] = []

  constructor(connect: Connector, { name, type, strict, ...rest }: Omit<Part, 'workspace'>) {
    const own = { agentName: name, agentType: type, strictName: strict }
    this.client = new WorkspaceClient(connect, { ...own, autoConnect: false, ...rest })
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

  async watches(filter: EventFilter): Promise<{ events: RelayEvent[]; stop(): void }> {
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

/** The call is refused with this code and in words like these. Resolves with the refusal. */
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

/** A hint may be late: look again until nothing throws. */
export async function eventually(look: () => void | Promise<void>): Promise<void> {
  let last: unknown
  const isSo = async () => {
    try {
      await look()
      return true
    } catch (error) {
      last = error
      return false
    }
  }
  await until(isSo).catch(() => {
    throw last
  })
}
