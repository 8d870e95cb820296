// The relay of a lift in a project's files: one entry by its address, which every host there shares. Roles are said with each call, not here.

import { putEntry, readEntry, removeEntry, Untouched } from '../careful/index.ts'
import type { Editor, Surroundings } from './editor.ts'
import { editors } from './editors/index.ts'
import { attempt, type Outcome } from './install.ts'

export const liftEntryName = 'relay'

/** By SSE as the lift has it from the start; a host without it, or that is told no type, gets the newer route. */
const entries: Record<string, (url: string) => object> = {
  claude: (url) => ({ type: 'sse', url: `${url}/sse` }),
  cursor: (url) => ({ url: `${url}/mcp` }),
  vscode: (url) => ({ type: 'sse', url: `${url}/sse` }),
  codex: (url) => ({ url: `${url}/mcp` }),
  gemini: (url) => ({ type: 'sse', url: `${url}/sse` }),
  opencode: (url) => ({ type: 'remote', url: `${url}/mcp`, enabled: true }),
  droid: (url) => ({ type: 'sse', url: `${url}/sse` }),
  copilot: (url) => ({ type: 'sse', url: `${url}/sse`, tools: ['*'] }),
  // Without a type, `url` is SSE to it.
  qwen: (url) => ({ url: `${url}/sse` }),
}

/** Into `.mcp.json`, and into the other files that the project has already. */
export function configureLift(port: number, around: Surroundings): Outcome[] {
  return inFiles(around, (editor, file) => editor.name === 'claude' || around.exists(file)).map(
    ({ editor, file, entry }) => {
      const value = entry(`http://localhost:${port}`)
      const outcome = attempt(editor, 'server', wish, around, file, (path, options) => {
        if (isForeign(path, editor)) throw new Untouched(`another server is called "${liftEntryName}" there`)
        return [putEntry(path, editor.keyPath, liftEntryName, value, options)]
      })
      return outcome.exit === 0 ? { ...outcome, note: editor.note?.(true) } : outcome
    },
  )
}

/** Wherever it stands; what somebody else calls by that name stays. */
export function unconfigureLift(around: Surroundings): Outcome[] {
  return inFiles(around, (editor, file) => around.exists(file) && !isForeign(file, editor))
    .map(({ editor, file }) =>
      attempt(editor, 'server', wish, around, file, (path, options) => [
        removeEntry(path, editor.keyPath, liftEntryName, options),
      ]),
    )
    .filter(({ status }) => status !== 'unchanged')
}

const wish = { editors: [], isProject: true, isDryRun: false, withHooks: false }

function inFiles(around: Surroundings, isMeant: (editor: Editor, file: string) => boolean) {
  return editors.flatMap((editor) => {
    const [file, entry] = [editor.projectFile?.(around), entries[editor.name]]
    return file !== undefined && entry !== undefined && isMeant(editor, file) ? [{ editor, file, entry }] : []
  })
}

const ours = /^http:\/\/localhost:\d+\/(?:sse|mcp)$/

/** A file that cannot be read is no proof of it: the edit says what is wrong. */
function isForeign(file: string, { keyPath }: Editor): boolean {
  try {
    const entry = readEntry(file, keyPath, liftEntryName) as { url?: unknown } | undefined
    return entry !== undefined && !(typeof entry?.url === 'string' && ours.test(entry.url))
  } catch {
    return false
  }
}
