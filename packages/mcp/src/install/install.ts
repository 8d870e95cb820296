// Installing and uninstalling: the careful edits of each chosen editor's files, and their outcomes. Printing is in report.ts.

import { serverName } from '@agent-relay/sdk/internal/clis'
import {
  type Edit,
  type Plan,
  putEntry,
  readEntry,
  removeEntry,
  type Slot,
  snippetOf,
  Untouched,
} from '../careful/index.ts'
import type { Server } from '../launcher/index.ts'
import { detected, type Editor, editors } from './editors.ts'
import { freeHookEditors, hooksOf } from './hooks.ts'
import type { InstallContext } from './paths.ts'

export interface Wish {
  /** The names of editors, `auto` or `all`. */
  editors: readonly string[]
  isProject: boolean
  /** The collected edits of a dry run. */
  plan?: Plan
  /** `kept`: hooks only where there are some already. `free`: also hooks that cost the person nothing. */
  hooks: 'none' | 'kept' | 'free' | 'all'
}

/** The outcome for one file of one editor. */
export interface FileOutcome {
  editor: string
  title: string
  what: 'server' | 'hooks'
  file?: string
  status: Edit['status'] | 'failed'
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

export interface Meant {
  known: Editor[]
  unknown: string[]
}

export function meant(
  names: readonly string[],
  around: InstallContext,
  auto: () => Editor[] = () => detected(around),
): Meant {
  const known = names.flatMap((name) => {
    if (name === 'auto') return auto()
    return name === 'all' ? editors : editors.filter((editor) => editor.name === name)
  })
  const words = ['auto', 'all', ...editors.map(({ name }) => name)]
  return { known: [...new Set(known)], unknown: names.filter((name) => !words.includes(name)) }
}

export function install(editor: Editor, wish: Wish, server: Server, around: InstallContext): FileOutcome[] {
  const value = editor.entry(server)
  const main = attempt(editor, 'server', wish, around, fileOf(editor, wish, around), (file, options) => [
    putEntry(file, editor.keyPath, serverName, value, options),
  ])
  if (main.exit !== 0) {
    if (main.file !== undefined && main.snippet === '')
      main.snippet = snippetOf(main.file, editor.keyPath, serverName, value)
    return [main]
  }
  return [{ ...main, note: editor.note?.(wish.isProject) }, ...installHooks(editor, wish, around)]
}

function installHooks(editor: Editor, wish: Wish, around: InstallContext): FileOutcome[] {
  const hooks = hooksOf(editor, around, wish.isProject)
  const isFree = freeHookEditors.includes(editor.name)
  const isMeant = {
    none: () => false,
    kept: () => stands(hooks, wish.isProject, around),
    free: () => isFree || stands(hooks, wish.isProject, around),
    all: () => true,
  }
  const [first] = hooks
  if (!first || !isMeant[wish.hooks]()) return []
  const outcome = attempt(editor, 'hooks', wish, around, first.file, (_, options) => {
    if (!wish.plan) editor.hooks?.prepare?.(around.env)
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
 * Takes the hooks out first: additions are taken out in reverse order, and a file that was made for the server goes last. `foreign`: the
 * command of another program's entry, which stays.
 */
export function uninstall(editor: Editor, wish: Wish, around: InstallContext, foreign?: string): FileOutcome[] {
  const hooks = hooksOf(editor, around, wish.isProject)
  const outcomes = hooks[0]
    ? [
        attempt(editor, 'hooks', wish, around, hooks[0].file, (_, options) =>
          hooks.toReversed().map(({ file, keyPath, slot }) => removeEntry(file, keyPath, slot, options)),
        ),
      ]
    : []
  const main = attempt(editor, 'server', wish, around, fileOf(editor, wish, around), (file, options) =>
    foreign === undefined ? [removeEntry(file, editor.keyPath, serverName, options)] : [],
  )
  return [...outcomes, { ...main, foreign }].map((outcome) => ({ ...outcome, snippet: undefined }))
}

/** Whether the editor's files have an entry or a hook of ours. A file that cannot be read counts: the person should be told. */
export function isInstalled(editor: Editor, isProject: boolean, around: InstallContext): boolean {
  const file = fileOf(editor, { isProject }, around)
  const own = file === undefined ? [] : [{ file, keyPath: editor.keyPath, slot: serverName }]
  return stands([...own, ...hooksOf(editor, around, isProject)], isProject, around)
}

interface Place {
  file: string
  keyPath: readonly string[]
  slot: Slot
}

function stands(places: readonly Place[], isProject: boolean, around: InstallContext): boolean {
  return places.some(({ file, keyPath, slot }) => {
    try {
      return readEntry(file, keyPath, slot, { within: isProject ? around.project : undefined }) !== undefined
    } catch {
      return false
    }
  })
}

export function fileOf(
  editor: Editor,
  { isProject }: Pick<Wish, 'isProject'>,
  around: InstallContext,
): string | undefined {
  return isProject ? editor.projectFile?.(around) : editor.userFile(around)
}

type Work = (file: string, options: Parameters<typeof removeEntry>[3] & object) => Edit[]

/** Makes one careful edit and returns its outcome. After a failure the file is unchanged. */
export function attempt(
  { name, title }: Editor,
  what: FileOutcome['what'],
  wish: Wish,
  around: InstallContext,
  file: string | undefined,
  work: Work,
): FileOutcome {
  const base = { editor: name, title, what, file }
  if (file === undefined) return { ...base, status: 'failed', why: 'it reads no servers from a project', exit: 1 }
  try {
    const edits = work(file, {
      env: around.env,
      plan: wish.plan,
      within: wish.isProject ? around.project : undefined,
      mode: wish.isProject ? 0o644 : 0o600,
    })
    const made = edits.find(({ status }) => status === 'removed' || status === 'created')
    const changed = made ?? edits.find(({ status }) => status === 'changed')
    return { ...base, status: changed?.status ?? 'unchanged', backup: edits[0]?.backup, exit: 0 }
  } catch (error) {
    const isConfig = error instanceof Untouched && error.isConfig
    return { ...base, status: 'failed', why: whyOf(error), ...(isConfig ? { snippet: '', exit: 78 } : { exit: 1 }) }
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

function whyOf(error: unknown): string {
  if (error instanceof Untouched) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  const text = systemTexts[code ?? '']
  if (text === undefined && code === undefined) throw error
  return text ?? message
}
