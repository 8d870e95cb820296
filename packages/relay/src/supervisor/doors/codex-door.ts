// The own door of a hired Codex: the app-server that runs beside its terminal. It tells what Codex asks leave for as a whole, where the terminal
// shows only a part: the command as it would run, and each file with what changes in it.

import { realpath } from 'node:fs/promises'
import { askedText } from '@agent-relay/sdk/internal/asked'
import type { ApprovalChoice } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { Dialog } from '../dialog.ts'
import { AppServer, type AskedByServer, type Item } from './app-server.ts'
import type { OwnDoor } from './own-door.ts'

/** What it waits for comes right after the conversation was joined. */
const replayMs = 1_000
/** More than wait for an answer at once. */
const changesMax = 16

const Command = z.object({
  command: z.string(),
  cwd: z.string().nullish(),
  availableDecisions: z.array(z.unknown()).nullish(),
})
const Change = z.object({
  path: z.string(),
  kind: z.object({ type: z.enum(['add', 'delete', 'update']), move_path: z.string().nullish() }),
  diff: z.string(),
})
const Patch = z.object({ itemId: z.string(), grantRoot: z.string().nullish() })

const choices: (ApprovalChoice & { label: string })[] = [
  { id: 'accept', kind: 'allow', label: 'Yes, this once' },
  { id: 'acceptForSession', kind: 'always', label: 'Yes, until this session ends' },
  { id: 'decline', kind: 'deny', label: 'No' },
]

/** `cwd`: where the worker is. A command that would run elsewhere says so. */
export function codexDoor(socket: string, cwd: string): OwnDoor {
  const door = new CodexDoor(socket, cwd)
  return { asked: () => door.asked() }
}

class CodexDoor {
  readonly #socket: string
  readonly #cwd: string
  #server: AppServer | undefined
  /** What it has asked and nobody has answered, here or at the terminal. */
  readonly #asked = new Map<AskedByServer['id'], AskedByServer>()
  /** The newest changes of files, by the id of their step: what it asks about names no more than that. */
  readonly #changes = new Map<string, Item>()
  #whenAsked: (() => void) | undefined

  constructor(socket: string, cwd: string) {
    this.#socket = socket
    this.#cwd = cwd
  }

  async asked(): Promise<Dialog | undefined> {
    const server = this.#server ?? (await this.#connect())
    if (this.#asked.size === 0) await this.#join(server)
    const [first] = this.#asked.values()
    const what = first && this.#inputOf(first)
    if (!what) return undefined
    const { id, thread, reply } = first
    return { same: `${thread} ${id}`, ...what, answer: async ({ choice: decision }) => reply.result({ decision }) }
  }

  async #connect(): Promise<AppServer> {
    this.#server = await AppServer.connect(await realpath(this.#socket), {
      onAsked: (asked) => {
        this.#asked.set(asked.id, asked)
        this.#whenAsked?.()
      },
      onResolved: (id) => this.#asked.delete(id),
      onItem: (item) => this.#keep(item),
      onClose: () => {
        this.#server = undefined
        this.#asked.clear()
      },
    })
    return this.#server
  }

  #keep(item: Item): void {
    if (item.type !== 'fileChange') return
    this.#changes.set(item.id, item)
    const [oldest] = this.#changes.keys()
    if (oldest !== undefined && this.#changes.size > changesMax) this.#changes.delete(oldest)
  }

  /** Whoever joins a conversation that waits for an answer is asked too, and hears of what comes later. */
  async #join(server: AppServer): Promise<void> {
    for (const id of await server.loaded()) {
      const { status } = await server.read(id)
      if (!status.activeFlags?.includes('waitingOnApproval')) continue
      const replayed = new Promise<void>((resolve) => {
        this.#whenAsked = resolve
        setTimeout(resolve, replayMs).unref()
      })
      for (const item of await server.join(id)) this.#keep(item)
      return replayed
    }
  }

  /** Undefined for what it asks in another way: that is read off the screen. */
  #inputOf({ method, params }: AskedByServer): Pick<Dialog, 'tool' | 'input' | 'choices'> | undefined {
    if (method === 'item/commandExecution/requestApproval') {
      const { command, cwd, availableDecisions } = Command.parse(params)
      const elsewhere = cwd && cwd !== this.#cwd ? { cwd } : {}
      const offered = choices.filter(({ id, kind }) => kind === 'deny' || (availableDecisions?.includes(id) ?? true))
      return {
        tool: 'shell',
        input: askedText({ input: { command: scriptIn(command), ...elsewhere } }),
        choices: offered,
      }
    }
    if (method !== 'item/fileChange/requestApproval') return undefined
    const { itemId, grantRoot } = Patch.parse(params)
    const files = z.object({ changes: z.array(Change) }).parse(this.#changes.get(itemId)).changes
    const all = [...files.map(changeText), ...(grantRoot ? [`and may write below ${grantRoot} from then on`] : [])]
    return { tool: 'apply_patch', input: all.join('\n'), choices }
  }
}

function changeText({ path, kind: { type, move_path: to }, diff }: z.infer<typeof Change>): string {
  if (type === 'add') return askedText({ input: { path, content: diff } })
  if (type === 'delete') return askedText({ input: { path, old_string: diff, new_string: '' } })
  return askedText({ input: { path: to ? `${path} -> ${to}` : path, diff } })
}

/** `/bin/bash -lc 'touch a'` is what runs `touch a`. Anything that is not exactly that stays as it is. */
export function scriptIn(command: string): string {
  const [, quoted] = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z)?sh -l?c ([\s\S]+)$/.exec(command) ?? []
  return (quoted !== undefined && unquoted(quoted)) || command
}

/** One word of a shell; undefined where it is more than one. */
function unquoted(word: string): string | undefined {
  const part = /'([^']*)'|"((?:[^"\\$`]|\\[\s\S])*)"|\\([\s\S])|([\w@%+=:,./-]+)/y
  let said = ''
  while (part.lastIndex < word.length) {
    const found = part.exec(word)
    if (!found) return undefined
    const [, single, double, escaped, bare] = found
    said += single ?? double?.replace(/\\([\\"$`])/g, '$1') ?? escaped ?? bare ?? ''
  }
  return said
}
