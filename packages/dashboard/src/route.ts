// Where the page is: everything that can be linked to is in the address behind the #.

import { Cell, useCell } from './store/cell.ts'

export const views = ['now', 'talk', 'agent', 'runs', 'actions', 'recorder'] as const
export type View = (typeof views)[number]

export interface Route {
  /** nowhere: the address names no view. */
  view: View | 'nowhere'
  /** What comes behind the view, decoded. */
  parts: string[]
  query: URLSearchParams
}

function read(): Route {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [name = '', ...parts] = path.split('/').map(decode)
  const view = name === '' ? 'now' : (views.find((each) => each === name) ?? 'nowhere')
  return { view, parts, query: new URLSearchParams(search) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const route = new Cell<Route>(read())
addEventListener('hashchange', () => route.set(read()))

export const useRoute = (): Route => useCell(route)

export function linkTo(
  view: View,
  parts: readonly (string | number)[] = [],
  query: Record<string, string> = {},
): string {
  const kept = Object.entries(query).filter(([, value]) => value !== '')
  const search = kept.length > 0 ? `?${new URLSearchParams(kept)}` : ''
  return `#/${[view, ...parts].map((part) => encodeURIComponent(part)).join('/')}${search}`
}

export function go(view: View, parts: readonly (string | number)[] = [], query: Record<string, string> = {}): void {
  location.hash = linkTo(view, parts, query)
}

/** Changes what is linked to without a step in the browser's history. */
export function refine(view: View, parts: readonly (string | number)[] = [], query: Record<string, string> = {}): void {
  history.replaceState(null, '', linkTo(view, parts, query))
  route.set(read())
}
