// Checks whether an ACP agent edits files that another agent is editing, as far as its tool calls name the files. If the agent asks for permission,
// the check comes before the edit; otherwise the edit is recorded afterwards.

import { limits } from '@agent-relay/sdk/protocol'
import type { EditChecker, EditedFiles } from '../../broker/claims/claim-runtime.ts'
import type { WorkerRow } from '../../core/view.ts'
import type { ToolCall } from './acp-schemas.ts'
import type { ControlListener } from './control.ts'

export interface AcpEditsOptions {
  row: WorkerRow
  edits: EditChecker
  listener: ControlListener
}

/** The kinds of ACP tools that change the files that they name. */
const editingKinds = ['edit', 'delete', 'move']
/** Maximum number of files of one tool call. */
const filesMax = 100
/**
 * Maximum length in characters, and maximum number of words, of a command that is parsed for the files it writes to. Parsing a much longer command
 * would delay all agents.
 */
const [commandCharsMax, commandWordsMax] = [16 * 1024, 1_000]
/** Maximum number of unfinished tool calls that are kept. */
const callsMax = 200

export class AcpEdits {
  readonly #options: AcpEditsOptions
  /** The edit of each tool call, by the call's id. `isAsked`: whether the agent asked for permission. */
  readonly #calls = new Map<string, { kind?: string | null; edit?: EditedFiles; isAsked?: boolean }>()

  constructor(options: AcpEditsOptions) {
    this.#options = options
  }

  /** Returns the edit that the tool call would make, if the call names its files. */
  editOfRequest(toolCall: ToolCall): EditedFiles | undefined {
    const call = this.#mergeCall(toolCall)
    call.isAsked = true
    return call.edit
  }

  /** Returns why the edit is denied; undefined if it is allowed. */
  denialOf(edit: EditedFiles): Promise<string | undefined> {
    const { row, edits } = this.#options
    return edits.check(row.name, edit)
  }

  /** Records an edit that has finished without a request for permission. */
  onUpdate(toolCall: ToolCall): void {
    const { row, edits, listener } = this.#options
    const { edit, isAsked } = this.#mergeCall(toolCall)
    if (toolCall.status !== 'completed' && toolCall.status !== 'failed') return
    this.#calls.delete(toolCall.toolCallId)
    if (edit && !isAsked && toolCall.status === 'completed')
      edits.recordEdit(row.name, edit).catch((error: Error) => listener.onTrouble(error))
  }

  onTurnEnd(): void {
    this.#calls.clear()
  }

  /** Adds an update to what is known of its tool call: an update contains only what is new. */
  #mergeCall(toolCall: ToolCall) {
    const { toolCallId: id } = toolCall
    const call = this.#calls.get(id) ?? {}
    call.kind = toolCall.kind ?? call.kind
    call.edit = this.#editOf({ ...toolCall, kind: call.kind }) ?? call.edit
    this.#calls.set(id, call)
    if (this.#calls.size > callsMax) this.#calls.delete(this.#calls.keys().next().value as string)
    return call
  }

  #editOf({ kind, locations, content, rawInput }: ToolCall): EditedFiles | undefined {
    const { row, edits } = this.#options
    const { cwd } = row
    const input = typeof rawInput === 'object' && rawInput !== null ? { ...rawInput } : {}
    const named = (tool: string, more?: object) => edits.editsOf(tool, { ...input, ...more }, cwd)
    if (kind === 'execute') {
      const { command } = input as { command?: unknown }
      if (typeof command === 'string')
        return boundedEdit(cwd, named('shell', { command: command.slice(0, commandCharsMax) }))
      return Array.isArray(command)
        ? boundedEdit(cwd, named('shell', { command: command.slice(0, commandWordsMax) }))
        : undefined
    }
    const diffs = pathsIn(content, 'diff')
    if (!editingKinds.includes(kind ?? '')) return boundedEdit(cwd, { files: diffs })
    const files = [...pathsIn(locations), ...diffs]
    if (kind !== 'edit') return boundedEdit(cwd, { files, trees: files })
    return boundedEdit(cwd, files.length > 0 ? { files } : named('edit'))
  }
}

function boundedEdit(cwd: string, { files, trees, git }: Omit<EditedFiles, 'cwd'>): EditedFiles | undefined {
  const some = (paths: readonly string[]) => [...new Set(paths)].filter(isPath).slice(0, filesMax)
  const edit = { cwd, files: some(files), trees: trees && some(trees), git }
  return edit.files.length > 0 || git ? edit : undefined
}

function isPath(path: string): boolean {
  return path.length > 0 && path.length <= limits.pathCharsMax
}

/** Returns the paths in a list from the agent; everything else in the list is ignored. */
function pathsIn(list: unknown, type?: string): string[] {
  if (!Array.isArray(list)) return []
  return list.slice(0, filesMax).flatMap((each: { path?: unknown; type?: unknown } | null) => {
    return typeof each?.path === 'string' && each.type === type ? [each.path] : []
  })
}
