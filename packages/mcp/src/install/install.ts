// Installing and uninstalling: the careful edits of each chosen editor's files, and their outcomes. Printing is in report.ts.

import { mcpServerName } from '@agent-relay/sdk/internal/clis'
import {
  type DryRunPlan,
  type EditOutcome,
  type EntrySlot,
  entrySnippet,
  FileUntouchedError,
  putEntry,
  readEntry,
  removeEntry,
} from '../careful/index.ts'
import type { ServerCommand } from '../launcher/index.ts'
import { detectEditors, type Editor, editors } from './editors.ts'
import { editorHooks, silentHookEditors } from './hooks.ts'
import type { InstallContext } from './paths.ts'

export interface InstallRequest {
  /** The names of editors, `auto` or `all`. */
  editors: readonly string[]
  isProject: boolean
  /** The collected edits of a dry run. */
  plan?: DryRunPlan
  /** `kept`: hooks only for editors that have some of ours already. `free`: also for editors whose hooks do not bother the user (see hooks.ts). */
  hooks: 'none' | 'kept' | 'free' | 'all'
}

/** The outcome for one file of one editor. */
export interface FileOutcome {
  editor: string
  title: string
  what: 'server' | 'hooks'
  file?: string
  status: EditOutcome['status'] | 'failed'
  why?: string
  /** Text to paste by hand, where the file's content prevented the edit. */
  snippet?: string
  diff?: string
  backup?: string
  note?: string
  /** The command of another program's entry of our name, if there was one. */
  foreign?: string
  /** The command that fixes the failure. */
  fix?: string
  exit: number
}

export interface ChosenEditors {
  known: Editor[]
  unknown: string[]
}

export function chooseEditors(
  names: readonly string[],
  context: InstallContext,
  auto: () => Editor[] = () => detectEditors(context),
): ChosenEditors {
  const known = names.flatMap((name) => {
    if (name === 'auto') return auto()
    return name === 'all' ? editors : editors.filter((editor) => editor.name === name)
  })
  const words = ['auto', 'all', ...editors.map(({ name }) => name)]
  return { known: [...new Set(known)], unknown: names.filter((name) => !words.includes(name)) }
}

export function installEditor(
  editor: Editor,
  request: InstallRequest,
  server: ServerCommand,
  context: InstallContext,
): FileOutcome[] {
  const value = editor.entry(server)
  const main = attemptEdit(
    editor,
    'server',
    request,
    context,
    editorFile(editor, request, context),
    (file, options) => [putEntry(file, editor.keyPath, mcpServerName, value, options)],
  )
  if (main.exit !== 0) {
    if (main.file !== undefined && main.snippet === '')
      main.snippet = entrySnippet(main.file, editor.keyPath, mcpServerName, value)
    return [main]
  }
  return [{ ...main, note: editor.note?.(request.isProject) }, ...installHooks(editor, request, context)]
}

function installHooks(editor: Editor, request: InstallRequest, context: InstallContext): FileOutcome[] {
  const hooks = editorHooks(editor, context, request.isProject)
  const isFree = silentHookEditors.includes(editor.name)
  const isMeant = {
    none: () => false,
    kept: () => hasAnyEntry(hooks, request.isProject, context),
    free: () => isFree || hasAnyEntry(hooks, request.isProject, context),
    all: () => true,
  }
  const [first] = hooks
  if (!first || !isMeant[request.hooks]()) return []
  const outcome = attemptEdit(editor, 'hooks', request, context, first.file, (_, options) => {
    if (!request.plan) editor.hooks?.prepare?.(context.env)
    return hooks.map(({ file, keyPath, slot, value }) => putEntry(file, keyPath, slot, value, options))
  })
  if (outcome.snippet === '') {
    const [key = ''] = first.keyPath
    const events = hooks.map(({ keyPath, value }) => [keyPath[1], [value]])
    const whole = first.keyPath.length === 1 ? [first.value] : Object.fromEntries(events)
    outcome.snippet = JSON.stringify({ [key]: whole }, null, 2)
  }
  return [outcome]
}

/**
 * Removes the hooks before the server's entry, the reverse of the installation, so that a file that was created for the server is removed last.
 * `foreign`: the command of an entry that starts another program; that entry stays.
 */
export function uninstallEditor(
  editor: Editor,
  request: InstallRequest,
  context: InstallContext,
  foreign?: string,
): FileOutcome[] {
  const hooks = editorHooks(editor, context, request.isProject)
  const outcomes = hooks[0]
    ? [
        attemptEdit(editor, 'hooks', request, context, hooks[0].file, (_, options) =>
          hooks.toReversed().map(({ file, keyPath, slot }) => removeEntry(file, keyPath, slot, options)),
        ),
      ]
    : []
  const main = attemptEdit(editor, 'server', request, context, editorFile(editor, request, context), (file, options) =>
    foreign === undefined ? [removeEntry(file, editor.keyPath, mcpServerName, options)] : [],
  )
  return [...outcomes, { ...main, foreign }].map((outcome) => ({ ...outcome, snippet: undefined }))
}

/** Whether the editor's files have an entry or a hook of ours. A file that cannot be read counts: an uninstall then reports that file. */
export function hasOwnEntries(editor: Editor, isProject: boolean, context: InstallContext): boolean {
  const file = editorFile(editor, { isProject }, context)
  const own = file === undefined ? [] : [{ file, keyPath: editor.keyPath, slot: mcpServerName }]
  return hasAnyEntry([...own, ...editorHooks(editor, context, isProject)], isProject, context, true)
}

interface EntryPlace {
  file: string
  keyPath: readonly string[]
  slot: EntrySlot
}

function hasAnyEntry(
  places: readonly EntryPlace[],
  isProject: boolean,
  context: InstallContext,
  ifUnreadable = false,
): boolean {
  return places.some(({ file, keyPath, slot }) => {
    try {
      return readEntry(file, keyPath, slot, { within: isProject ? context.project : undefined }) !== undefined
    } catch {
      return ifUnreadable
    }
  })
}

export function editorFile(
  editor: Editor,
  { isProject }: Pick<InstallRequest, 'isProject'>,
  context: InstallContext,
): string | undefined {
  return isProject ? editor.projectFile?.(context) : editor.userFile(context)
}

type EditWork = (file: string, options: Parameters<typeof removeEntry>[3] & object) => EditOutcome[]

/** Makes one careful edit and returns its outcome. After a failure the file is unchanged. */
export function attemptEdit(
  { name, title }: Editor,
  what: FileOutcome['what'],
  request: InstallRequest,
  context: InstallContext,
  file: string | undefined,
  work: EditWork,
): FileOutcome {
  const base = { editor: name, title, what, file }
  if (file === undefined) return { ...base, status: 'failed', why: 'it reads no servers from a project', exit: 1 }
  try {
    const edits = work(file, {
      env: context.env,
      plan: request.plan,
      within: request.isProject ? context.project : undefined,
      mode: request.isProject ? 0o644 : 0o600,
    })
    const made = edits.find(({ status }) => status === 'removed' || status === 'created')
    const changed = made ?? edits.find(({ status }) => status === 'changed')
    return { ...base, status: changed?.status ?? 'unchanged', backup: edits[0]?.backup, exit: 0 }
  } catch (error) {
    const isContentFault = error instanceof FileUntouchedError && error.isContentFault
    return {
      ...base,
      status: 'failed',
      why: failureText(error),
      ...(isContentFault ? { snippet: '', exit: 78 } : { exit: 1 }),
    }
  }
}

const systemTexts: Record<string, string> = {
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'the disk is read-only',
  ENOTDIR: 'a file stands where its directory should be',
  ELOOP: 'the links go in a circle',
  ENOSPC: 'the disk is full',
}

function failureText(error: unknown): string {
  if (error instanceof FileUntouchedError) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  const text = systemTexts[code ?? '']
  if (text === undefined && code === undefined) throw error
  return text ?? message
}
