// Adds the relay of a lift (`agent-relay lift`) to a project's MCP settings: one entry with its URL, which all editors and CLIs there share. The
// entry names no role; each call names one.

import { FileUntouchedError, putEntry, readEntry, removeEntry } from '../careful/index.ts'
import { type Editor, editors } from './editors.ts'
import { attemptEdit, type FileOutcome, type InstallRequest } from './install.ts'
import type { InstallContext } from './paths.ts'

export const liftEntryName = 'relay'

/** Writes the entry into `.mcp.json`, and into the other files that the project has already. */
export function addLiftEntries(port: number, context: InstallContext): FileOutcome[] {
  return liftFiles(context, ({ makesLiftFile }, file) => makesLiftFile === true || context.exists(file)).map(
    ({ editor, file, entry }) => {
      const value = entry(`http://localhost:${port}`)
      const outcome = attemptEdit(editor, 'server', request, context, file, (path, options) => {
        if (isForeign(path, editor, context))
          throw new FileUntouchedError(`another server is called "${liftEntryName}" there`)
        return [putEntry(path, editor.keyPath, liftEntryName, value, options)]
      })
      return outcome.exit === 0 ? { ...outcome, note: editor.note?.(true) } : outcome
    },
  )
}

/** Takes the entry out of every file that has it; another server of that name stays. */
export function removeLiftEntries(context: InstallContext): FileOutcome[] {
  return liftFiles(context, (editor, file) => context.exists(file) && !isForeign(file, editor, context))
    .map(({ editor, file }) =>
      attemptEdit(editor, 'server', request, context, file, (path, options) => [
        removeEntry(path, editor.keyPath, liftEntryName, options),
      ]),
    )
    .filter(({ status }) => status !== 'unchanged')
}

const request: InstallRequest = { editors: [], isProject: true, hooks: 'none' }

function liftFiles(context: InstallContext, isMeant: (editor: Editor, file: string) => boolean) {
  return editors.flatMap((editor) => {
    const [file, entry] = [editor.projectFile?.(context), editor.liftEntry]
    return file !== undefined && entry !== undefined && isMeant(editor, file) ? [{ editor, file, entry }] : []
  })
}

const liftAddress = /^http:\/\/localhost:\d+\/(?:sse|mcp)$/

/** Whether the file has another server under our name. A file that cannot be read does not count: the edit reports it. */
function isForeign(file: string, { keyPath }: Editor, { project }: InstallContext): boolean {
  try {
    const entry = readEntry(file, keyPath, liftEntryName, { within: project }) as { url?: unknown } | undefined
    return entry !== undefined && !(typeof entry?.url === 'string' && liftAddress.test(entry.url))
  } catch {
    return false
  }
}
