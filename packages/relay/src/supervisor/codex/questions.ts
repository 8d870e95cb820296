// The questions of a Codex conversation to its person, complete as the server sends them: the command as it would run, or each file with its changes.
// The server asks everybody who has joined a conversation, so the relay joins a conversation only while it waits for an answer.

import { permissionText } from '@agent-relay/sdk/internal/permission-text'
import type { ApprovalChoice } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { Dialog } from '../dialog.ts'
import type { AppServer, AppServerListener, CodexItem, ServerQuestion } from './app-server.ts'

/** Maximum wait for the open question after joining a conversation; normally the server sends it at once. */
const replayMs = 1_000
/** Maximum number of file changes that are kept; fewer than that wait for an answer at the same time. */
const changesMax = 16

const Command = z.object({
  itemId: z.string(),
  approvalId: z.string().nullish(),
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

export class CodexQuestions {
  /** Questions that nobody has answered yet, here or at the terminal. */
  readonly #questions = new Map<ServerQuestion['id'], ServerQuestion>()
  /** The newest file changes, by the id of their step: a question about a file change contains only the step's id. */
  readonly #changes = new Map<string, CodexItem>()
  /** Conversations that were joined. Each is left once it waits for nothing more, even if its question could only be answered at the terminal. */
  readonly #joined = new Map<string, { server: AppServer; replayed: Promise<void> }>()
  readonly #whenAsked = new Map<string, () => void>()

  readonly listener: Pick<AppServerListener, 'onQuestion' | 'onQuestionResolved' | 'onItem'> = {
    onQuestion: (asked) => {
      this.#questions.set(asked.id, asked)
      this.#whenAsked.get(asked.thread)?.()
    },
    onQuestionResolved: (id) => this.#questions.delete(id),
    onItem: (item) => this.#keepFileChange(item),
  }

  clear(): void {
    this.#questions.clear()
    this.#joined.clear()
  }

  /** A conversation that has an unanswered question; undefined if there is none. */
  get askingThread(): string | undefined {
    return this.#questions.values().next().value?.thread
  }

  /** Forgets the conversation's questions and leaves the conversation, because it waits for nothing any more. */
  dropThread(thread: string): void {
    for (const asked of [...this.#questions.values()]) if (asked.thread === thread) this.#questions.delete(asked.id)
    this.#leave(thread)
  }

  /**
   * Reads the conversation's first open question. `cwd`: the conversation's directory; for a command that would run elsewhere, the question names the
   * other directory.
   */
  async readDialog(server: AppServer, thread: string, cwd: string): Promise<Dialog | undefined> {
    if (!this.#firstQuestionOf(thread)) await this.#join(server, thread)
    const first = this.#firstQuestionOf(thread)
    const what = first && this.#dialogTextOf(first, cwd)
    if (!what) return undefined
    const { id, reply } = first
    return { identity: `${thread} ${id}`, ...what, answer: async ({ choice }) => reply.result({ decision: choice }) }
  }

  #firstQuestionOf(thread: string): ServerQuestion | undefined {
    return [...this.#questions.values()].find((asked) => asked.thread === thread)
  }

  /** Joins a conversation that waits for an answer: the server then repeats the open question, and sends later ones. */
  #join(server: AppServer, thread: string): Promise<void> {
    const known = this.#joined.get(thread)
    if (known) return known.replayed
    const asked = new Promise<void>((resolve) => {
      this.#whenAsked.set(thread, resolve)
      setTimeout(resolve, replayMs).unref()
    })
    const join = async () => {
      for (const item of await server.joinThread(thread)) this.#keepFileChange(item)
      await asked
    }
    const replayed = join().finally(() => this.#whenAsked.delete(thread))
    this.#joined.set(thread, { server, replayed })
    replayed.catch(() => this.#joined.delete(thread))
    return replayed
  }

  #leave(thread: string): void {
    const joined = this.#joined.get(thread)
    this.#joined.delete(thread)
    void joined?.server.leaveThread(thread).catch(() => {})
  }

  #keepFileChange(item: CodexItem): void {
    if (item.type !== 'fileChange') return
    this.#changes.set(item.id, item)
    const [oldest] = this.#changes.keys()
    if (oldest !== undefined && this.#changes.size > changesMax) this.#changes.delete(oldest)
  }

  /** Returns the question as text. Undefined for other kinds of questions, which are read off the screen or answered at the terminal alone. */
  #dialogTextOf(
    { method, params }: ServerQuestion,
    at: string,
  ): Pick<Dialog, 'key' | 'tool' | 'input' | 'choices'> | undefined {
    if (method === 'item/commandExecution/requestApproval') {
      const { itemId, approvalId, command, cwd, availableDecisions } = Command.parse(params)
      const elsewhere = cwd && cwd !== at ? { cwd } : {}
      const offered = choices.filter(({ id, kind }) => kind === 'deny' || (availableDecisions?.includes(id) ?? true))
      return {
        key: `${itemId} ${approvalId ?? ''}`,
        tool: 'shell',
        input: permissionText({ input: { command: shellScriptIn(command), ...elsewhere } }),
        choices: offered,
      }
    }
    if (method !== 'item/fileChange/requestApproval') return undefined
    const { itemId, grantRoot } = Patch.parse(params)
    const files = z.object({ changes: z.array(Change) }).parse(this.#changes.get(itemId)).changes
    const all = [...files.map(changeText), ...(grantRoot ? [`and may write below ${grantRoot} from then on`] : [])]
    return { key: itemId, tool: 'apply_patch', input: all.join('\n'), choices }
  }
}

function changeText({ path, kind: { type, move_path: to }, diff }: z.infer<typeof Change>): string {
  if (type === 'add') return permissionText({ input: { path, content: diff } })
  if (type === 'delete') return permissionText({ input: { path, old_string: diff, new_string: '' } })
  return permissionText({ input: { path: to ? `${path} -> ${to}` : path, diff } })
}

/** Returns the script in a shell call: `touch a` for `/bin/bash -lc 'touch a'`. Any other command is returned unchanged. */
export function shellScriptIn(command: string): string {
  const [, quoted] = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z)?sh -l?c ([\s\S]+)$/.exec(command) ?? []
  return (quoted !== undefined && unquoteShellWord(quoted)) || command
}

/** Returns the text that a quoted shell word stands for; undefined if the input is more than one word. */
function unquoteShellWord(word: string): string | undefined {
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
