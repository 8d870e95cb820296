// The workspace of this tab: it is in the path, so that several tabs can have several, and the browser keeps values for each of them apart.

/** Undefined at `/`, which means the workspace that the login was made for. */
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

export const pathOf = (workspace: string): string => `/w/${encodeURIComponent(workspace)}/`

/** The key under which this browser keeps a value of this workspace. */
export const keptAs = (what: string): string => `agent-relay.${chosenWorkspace ?? ''}.${what}`

/** Keeps a value in this browser; a value for which there is no room lasts only as long as the page is open. */
export function keepHere(place: string, text: string): void {
  try {
    localStorage.setItem(place, text)
  } catch {}
}
