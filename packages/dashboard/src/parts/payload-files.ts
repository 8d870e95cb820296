// Splits the payload of a run into files, if the payload is a git diff or JSON that names files. Drawing is in payload.tsx.

export interface PayloadFile {
  path: string
  text: string
}

/** How many files of a payload are listed; the download has all of them. */
const filesMax = 500

/** Returns the files of a payload; undefined for a payload that is a single text. */
export function payloadFiles(payload: string): readonly PayloadFile[] | undefined {
  const files = diffsOf(payload) ?? namedIn(parsed(payload))
  return files && files.length > 0 ? files.slice(0, filesMax) : undefined
}

function diffsOf(payload: string): PayloadFile[] | undefined {
  if (!/^diff --git /m.test(payload)) return undefined
  const parts = payload.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '))
  return parts.map((text) => ({ path: pathOfDiff(text), text }))
}

/** Finds the file's path after the change; for a removed file, the path before the change. */
function pathOfDiff(diff: string): string {
  const [, now] = /^\+\+\+ b\/(.+)$/m.exec(diff) ?? []
  const [, before] = /^--- a\/(.+)$/m.exec(diff) ?? []
  const [, named] = /^diff --git .* b\/(.+)$/m.exec(diff) ?? []
  return now ?? before ?? named ?? '?'
}

/** Reads the files from `{"files": {"a.ts": "…"}}`, `{"files": [{"path": "a.ts", "content": "…"}]}`, or the value of `files` alone. */
function namedIn(value: unknown): PayloadFile[] | undefined {
  const given = isRecord(value) && 'files' in value ? value.files : value
  if (Array.isArray(given)) {
    const files = given.map(fileOf)
    return files.every((file) => file !== undefined) ? files : undefined
  }
  if (!isRecord(given)) return undefined
  const entries = Object.entries(given)
  // In an object without `files`, all keys must look like paths: otherwise any object whose values are texts would match.
  const isMeant = given !== value || entries.every(([path]) => /[^/\s]\.\w+$|\//.test(path))
  const isText = entries.every(([, text]) => typeof text === 'string')
  return isMeant && isText ? entries.map(([path, text]) => ({ path, text: text as string })) : undefined
}

function fileOf(value: unknown): PayloadFile | undefined {
  if (!isRecord(value)) return undefined
  const path = value.path ?? value.file ?? value.name
  const text = value.content ?? value.text ?? value.diff ?? value.patch
  return typeof path === 'string' && typeof text === 'string' ? { path, text } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
