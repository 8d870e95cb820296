// Which workspace this tab shows: it is in the path, so that several tabs can have several, and what a browser keeps is kept for each of them.

/** Undefined at `/`: the one that the login was made for. */
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

/** The name under which this browser keeps something of this workspace. */
export const keptAs = (what: string): string => `agent-relay.${chosenWorkspace ?? ''}.${what}`

/** What does not fit any more lasts as long as the page is open. */
export function keepHere(place: string, text: string): void {
  try {
    localStorage.setItem(place, text)
  } catch {}
}
