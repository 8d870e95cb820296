// The page's address: everything that can be linked to is in the part after `#`.

import { Cell, useCell } from './cell.ts'
import { findView, type ViewName } from './views.ts'

export interface PageAddress {
  /** The view that the address names; `nowhere` if it names none. */
  view: ViewName | 'nowhere'
  /** The parts of the address's path after the view, decoded. */
  parts: string[]
  query: URLSearchParams
}

function read(): PageAddress {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [name = '', ...parts] = path.split('/').map(decode)
  const view = name === '' ? 'now' : (findView(name) ?? 'nowhere')
  return { view, parts, query: new URLSearchParams(search) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const pageAddress = new Cell<PageAddress>(read())
addEventListener('hashchange', () => pageAddress.set(read()))

export const usePageAddress = (): PageAddress => useCell(pageAddress)

/** Replaces lone surrogates (halves of a character): they may come from any file, and `encodeURIComponent` throws on them. */
const wellFormed = (part: string | number): string => String(part).replace(/\p{Cs}/gu, '\ufffd')

export function linkTo(
  view: ViewName,
  parts: readonly (string | number)[] = [],
  query: Record<string, string> = {},
): string {
  const kept = Object.entries(query).filter(([, value]) => value !== '')
  const search = kept.length > 0 ? `?${new URLSearchParams(kept)}` : ''
  return `#/${[view, ...parts].map((part) => encodeURIComponent(wellFormed(part))).join('/')}${search}`
}

export function goToView(
  view: ViewName,
  parts: readonly (string | number)[] = [],
  query: Record<string, string> = {},
): void {
  location.hash = linkTo(view, parts, query)
}

/** Returns a function that opens a link unless the person has gone elsewhere meanwhile: an answer that comes late must not take them away. */
export function openUnlessLeft(): (href: string) => void {
  const { hash } = location
  return (href) => void (location.hash === hash && location.assign(href))
}

/** Changes the page's address without adding a step to the browser's history. */
export function replaceAddress(
  view: ViewName,
  parts: readonly (string | number)[] = [],
  query: Record<string, string> = {},
): void {
  history.replaceState(null, '', linkTo(view, parts, query))
  pageAddress.set(read())
}
