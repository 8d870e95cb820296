// The text in which a person is shown an agent's permission request, by one rule for all CLIs: a command as it would run; an edit as the file and its changes;
// everything else as it is. Nothing that changes the effect is left out: a text is cut only if it is too long, and then says so.

/** A tool call for which an agent needs permission, as its CLI reports it. */
export interface PermissionCall {
  /** A title that the CLI or its model has written. */
  title?: string
  input?: unknown
  /** The `content` of a tool call in ACP: texts, and the content of files before and after the call. */
  content?: unknown
}

/** Number of unchanged lines shown around a change. */
const contextLines = 3
/**
 * Fields of a command's input that are not listed after the command: the command itself, its description by the model, and its timeout. All other fields are
 * listed, since they may change the effect.
 */
const aboutCommand = ['command', 'description', 'timeout']
/** Names of the fields in which CLIs give a file's path, its old and its new text, or a patch. */
const fileNames = ['file_path', 'filePath', 'filepath', 'fileName', 'notebook_path', 'path', 'file']
const oldNames = ['old_string', 'oldString', 'oldText', 'old_str']
const newNames = ['new_string', 'newString', 'newText', 'new_str', 'content', 'new_source']
const patchNames = ['patch', 'diff', 'fileDiff']

export function permissionText({ title = '', input, content }: PermissionCall): string {
  const given = recordOf(input)
  const files = diffsIn(content)
  const { command } = given
  if (typeof command === 'string' || Array.isArray(command)) {
    const line = typeof command === 'string' ? command : JSON.stringify(command)
    return joined(line, rest(withoutEcho(given), aboutCommand), files)
  }
  // If the CLI gives files before and after the call, the fields of the input are not shown too: the CLI has made those files from them.
  const [shown, taken] = files !== '' ? [files, changeNames] : (patchOf(given) ?? editOf(given))
  if (shown !== '') return joined(shown, rest(given, taken), textsIn(content))
  const plain = typeof input === 'string' ? input : Array.isArray(input) ? JSON.stringify(input) : rest(given, [])
  return joined(title, plain, textsIn(content))
}

/** Leaves out `commands` if it is a list with only the command itself, as Copilot sends it. */
function withoutEcho({ commands, ...given }: Record<string, unknown>): Record<string, unknown> {
  const isEcho = Array.isArray(commands) && commands.length === 1 && commands[0] === given.command
  return isEcho || commands === undefined ? given : { ...given, commands }
}

const changeNames = [...fileNames, ...oldNames, ...newNames, ...patchNames, 'edits', 'replace_all', 'replaceAll']

type ShownFields = [text: string, taken: readonly string[]]

/** Shows an edit as the file, and each old text with the new one, from the fields that Claude Code and similar CLIs use. */
function editOf(given: Record<string, unknown>): ShownFields {
  const file = fieldAt(given, fileNames)
  const isList = Array.isArray(given.edits)
  const edits = (isList ? (given.edits as unknown[]) : [given]).map(recordOf)
  const taken = ['edits', ...file.names]
  const changes = edits.flatMap((edit) => {
    const [before, after] = [fieldAt(edit, oldNames), fieldAt(edit, newNames)]
    if (before.text === undefined && after.text === undefined) return []
    const isEach = edit.replace_all === true || edit.replaceAll === true
    const how = before.text === undefined ? 'written' : isEach ? 'replaced everywhere' : 'replaced'
    const names = [...before.names, ...after.names, 'replace_all', 'replaceAll']
    if (!isList) taken.push(...names)
    return [joined(changeText(before.text ?? '', after.text ?? '', how), isList ? rest(edit, names) : '')]
  })
  if (file.text === undefined || changes.length < edits.length) return ['', []]
  return [joined(fileText(file.text), ...changes), taken]
}

function patchOf(given: Record<string, unknown>): ShownFields | undefined {
  const [file, patch] = [fieldAt(given, fileNames), fieldAt(given, patchNames)]
  if (!patch.text) return undefined
  return [
    joined(file.text === undefined ? '' : fileText(file.text), patch.text.trim()),
    [...file.names, ...patch.names],
  ]
}

/** Returns a path on one line. A line break in a path would make the rest of the path look like a part of the change. */
function fileText(path: string): string {
  return /\p{Cc}/u.test(path) ? JSON.stringify(path) : path
}

/** The diffs of an ACP tool call: the file, and what changes between its text before and after. */
function diffsIn(content: unknown): string {
  const diffs = listOf(content).filter(({ type, path }) => type === 'diff' && typeof path === 'string')
  return joined(
    ...diffs.map(({ path, oldText, newText }) => {
      const before = typeof oldText === 'string' ? oldText : ''
      return joined(
        fileText(String(path)),
        changeText(before, String(newText ?? ''), oldText == null ? 'written' : undefined),
      )
    }),
  )
}

function textsIn(content: unknown): string {
  const texts = listOf(content).map((each) => (each.type === 'content' ? recordOf(each.content).text : undefined))
  return joined(...texts.filter((text) => typeof text === 'string'))
}

/**
 * Returns a diff from the first changed line to the last, with a few unchanged lines around them. If `how` is set, it is the diff's head in place of line
 * numbers, because the position in the file is not known.
 */
function changeText(before: string, after: string, how?: string): string {
  const [a, b] = [linesOf(before), linesOf(after)]
  const most = Math.min(a.length, b.length)
  let same = 0
  while (same < most && a[same] === b[same]) same++
  let end = 0
  while (end < most - same && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const from = Math.max(0, same - contextLines)
  const [aTo, bTo] = [
    Math.min(a.length, a.length - end + contextLines),
    Math.min(b.length, b.length - end + contextLines),
  ]
  const head = how === undefined ? `@@ -${from + 1},${aTo - from} +${from + 1},${bTo - from} @@` : `@@ ${how} @@`
  return [
    head,
    ...a.slice(from, same).map((line) => ` ${line}`),
    ...a.slice(same, a.length - end).map((line) => `-${line}`),
    ...b.slice(same, b.length - end).map((line) => `+${line}`),
    ...a.slice(a.length - end, aTo).map((line) => ` ${line}`),
  ].join('\n')
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}

function rest(given: Record<string, unknown>, taken: readonly string[]): string {
  const left = Object.entries(given).filter(([name]) => !taken.includes(name))
  const [[, only] = []] = left
  if (left.length === 1 && taken.length === 0 && typeof only === 'string') return only
  return left.length === 0 ? '' : JSON.stringify(Object.fromEntries(left))
}

/**
 * Returns the text of the first of these fields that has one, and the names of all fields with the same text. A field with another text is not among them: the
 * tool may use it, so it must be shown too.
 */
function fieldAt(given: Record<string, unknown>, names: readonly string[]): { text?: string; names: string[] } {
  const text = names.map((name) => given[name]).find((value) => typeof value === 'string')
  return { text, names: text === undefined ? [] : names.filter((name) => given[name] === text) }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf) : []
}

function joined(...texts: string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

const [runs, edits, dialog] = [
  /^(?:bash|shell|execute|run_shell_command|exec|exec_command|command)$/i,
  /^(?:edit|multiedit|write|notebookedit|apply_patch|replace|write_file|create)$/i,
  'dialog',
]
const asks = /^(?:askuserquestion|ask_user|question)$/i
/** Matches the tool names that ACP gives if no kind of tool fits. */
const nameless = /^(?:tool|other|think|switch_mode|)$/i
const known: Readonly<Record<string, string>> = {
  read: 'read',
  fetch: 'fetch',
  search: 'search',
  delete: 'delete',
  move: 'move',
}

/** Returns a phrase to follow an agent's name, such as `wants to run`, and the part of the input that is still to be shown. */
export function permissionPhrase({ tool, input }: { tool: string; input: string }): { wants: string; rest: string } {
  if (tool === dialog) return { wants: 'has a dialog open', rest: input }
  if (asks.test(tool)) return { wants: 'asks', rest: input }
  if (runs.test(tool)) return { wants: 'wants to run', rest: input }
  const verb = known[tool.toLowerCase()]
  if (verb !== undefined) return { wants: `wants to ${verb}`, rest: input }
  if (nameless.test(tool)) return { wants: 'asks for leave', rest: input }
  const [file = '', ...lines] = input.split('\n')
  const isFile = edits.test(tool) && lines.some((line) => line.startsWith('@@ '))
  return isFile
    ? { wants: `wants to edit ${file}`, rest: lines.join('\n') }
    : { wants: `wants to use ${tool}`, rest: input }
}
