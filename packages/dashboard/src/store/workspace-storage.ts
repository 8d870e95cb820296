// The workspace of this browser tab. The page's path names it, so that each tab can have its own workspace, and the browser's storage is separate for each.

/** The workspace in the page's path; undefined at `/`, which means the workspace that the login was made for. */
export const chosenWorkspace = nameIn(location.pathname)

function nameIn(path: string): string | undefined {
  const [, part] = /^\/w\/([^/]+)/.exec(path) ?? []
  if (part === undefined) return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const workspacePath = (workspace: string): string => `/w/${encodeURIComponent(workspace)}/`

/** Returns the `localStorage` key for a value of a workspace, by default of this one. */
export const storageKey = (what: string, workspace = chosenWorkspace ?? ''): string =>
  `agent-relay.${workspace}.${what}`

/** Returns a kept value; undefined if there is none, or if the browser refuses its storage to the page. */
export function readStored(place: string): string | undefined {
  try {
    return localStorage.getItem(place) ?? undefined
  } catch {
    return undefined
  }
}

/** Returns the pairs of a kept list; none if there is no such list. */
export function readStoredPairs(place: string): (readonly [key: string, value: unknown])[] {
  try {
    const kept: unknown = JSON.parse(readStored(place) ?? '[]')
    return Array.isArray(kept) ? kept.map(([key, value]) => [String(key), value]) : []
  } catch {
    return []
  }
}

/** Keeps a value in the browser's storage. If the storage is full or refused, the value lasts only while the page is open. */
export function writeStored(place: string, text: string): void {
  try {
    localStorage.setItem(place, text)
  } catch {}
}
