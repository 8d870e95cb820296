// Imports a file of messages or events, one per line, as a new workspace. `agent-relay workspace export` and the page's recorder write such files. The
// workspace is made in a folder of its own; backup.ts and owner-controls.ts put it into its place.

import { createReadStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { JsonDepthError, parseJson } from '@agent-relay/sdk/internal/parse-json'
import {
  AgentName,
  Body,
  ChannelName,
  daemonName,
  Message,
  MessageId,
  makeIds,
  Thread,
} from '@agent-relay/sdk/protocol'
import { Workspace } from '../broker/workspace.ts'
import { broadcast } from '../core/conversations.ts'
import { ImportedHistory } from '../core/imported.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { systemClock } from '../machine/clock.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { PlaceableWorkspace } from './backup.ts'

/** Maximum number of messages in one commit. */
const batchMessages = 500
/** Maximum number of agents that enter a conversation in one entry. */
const joinsPerEntry = 500
/** Maximum length of a line in characters: enough for the longest body with every character escaped. */
const lineCharsMax = 4 * 1024 * 1024

export interface ImportedWorkspace extends PlaceableWorkspace {
  messages: number
  agents: number
  /** Number of lines that were not imported: events that are not messages, and repeated messages. */
  leftOut: number
}

export async function importWorkspace(
  path: string,
  name: string,
  directory: DataDirectory,
): Promise<ImportedWorkspace> {
  const folder = directory.makeRestoreFolder()
  try {
    const filled = await fillWorkspace(path, name, join(folder, 'relay.db'))
    const { id, key } = filled
    directory.markRestored(folder, { id, key })
    return { folder, ...filled }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function fillWorkspace(
  path: string,
  name: string,
  databasePath: string,
): Promise<Omit<ImportedWorkspace, 'folder'>> {
  const ids = makeIds()
  const onFatal = (error: Error) => {
    throw error
  }
  const options = { name, databasePath, searchPath: ':memory:', clock: systemClock, ids }
  const workspace = new Workspace({ ...options, onFatal, onTrouble: () => {} })
  try {
    const key = await workspace.start(() => {})
    if (key === undefined) throw new Error('a new workspace has a key')
    const intake = new ImportWriter(workspace)
    let [batch, leftOut]: [Message[], number] = [[], 0]
    for await (const message of messagesOf(path)) {
      if (message === undefined) leftOut++
      else batch.push(message)
      if (batch.length < batchMessages) continue
      intake.writeMessages(batch)
      batch = []
    }
    intake.writeMessages(batch)
    intake.writeJoins()
    const { messages, repeated, agents } = intake
    // A file without messages is refused: it may be a copy that was cut off before its first line.
    if (messages === 0) throw invalidFile(path, 'it holds no message')
    return { id: workspace.id, key, messages, agents, leftOut: leftOut + repeated }
  } finally {
    workspace.close()
  }
}

/** Appends entries without commands: nobody is connected yet, so nobody needs an answer or an event. */
class ImportWriter {
  readonly #workspace: Workspace
  readonly #history = new ImportedHistory()
  messages = 0
  repeated = 0

  constructor(workspace: Workspace) {
    this.#workspace = workspace
  }

  get agents(): number {
    return this.#history.agents.size
  }

  writeMessages(batch: readonly Message[]): void {
    const { store, ids } = this.#workspace
    store.transact(() => {
      for (const message of batch) {
        if (store.view.message(message.id)) {
          this.repeated++
          continue
        }
        const facts = this.#history.facts(message, () => ids('a'))
        const { id, ts, from: by, body } = message
        store.append({ ...this.#head(Date.parse(ts), id), by, facts, body })
        this.messages++
      }
    })
  }

  writeJoins(): void {
    const { store, clock, ids } = this.#workspace
    const facts = [...this.#history.entering()]
    store.transact(() => {
      for (let from = 0; from < facts.length; from += joinsPerEntry) {
        const head = this.#head(clock.now(), ids('d'))
        store.append({ ...head, by: daemonName, facts: facts.slice(from, from + joinsPerEntry) })
      }
    })
  }

  #head(at: number, cause: string) {
    return { at, cause: `import:${cause}`, rule: 'workspace.import', outcome: {} }
  }
}

/** Yields the messages of a file, and undefined for each line that has none. */
async function* messagesOf(path: string): AsyncGenerator<Message | undefined> {
  let at = 0
  for await (const line of linesOf(path)) {
    at++
    if (line.trim() !== '') yield messageOf(line, path, at)
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() as string
    yield* lines
    if (rest.length > lineCharsMax) throw invalidFile(path, 'a line of it is longer than that of any message')
  }
  yield rest
}

const ImportedMessage = Message.extend({
  id: MessageId,
  thread: Thread.optional(),
  replyTo: MessageId.optional(),
  body: Body,
})

/** Returns the message in one line of the file. The file may come from anybody, so every field is checked. */
function messageOf(line: string, path: string, at: number): Message | undefined {
  const value = parseLine(line, path, at)
  if (typeof value !== 'object' || value === null) throw invalidFile(path, `line ${at} is not a JSON object`)
  const { fact, type, message: told } = value as Record<string, unknown>
  const isEvent = fact !== undefined && type !== undefined
  if (isEvent && told === undefined) return undefined
  const found = ImportedMessage.safeParse(isEvent ? told : value)
  if (!found.success) throw invalidFile(path, `line ${at} is neither a message nor an event`)
  const message = found.data
  if (Number.isNaN(Date.parse(message.ts)) || !isParty(message.from) || !isAddress(message))
    throw invalidFile(path, `line ${at} names no agent, no channel or no time`)
  return message
}

function isAddress({ to, from }: Message): boolean {
  if (typeof to !== 'string') return to.length > 0 && to.every(isParty) && to.some((name) => name !== from)
  if (to === broadcast) return true
  return to.startsWith('#') ? ChannelName.safeParse(to).success : isParty(to) && to !== from
}

function isParty(name: string): boolean {
  return name.split(':').length <= 2 && name.split(':').every((part) => AgentName.safeParse(part).success)
}

function parseLine(line: string, path: string, at: number): unknown {
  try {
    return parseJson(line)
  } catch (error) {
    if (error instanceof JsonDepthError) throw invalidFile(path, `line ${at} is ${error.message}`)
    return undefined
  }
}

function invalidFile(path: string, why: string): RefusalError {
  return new RefusalError('file.invalid', { path, what: 'a file of messages or events', why })
}
