// Unsent texts, by the place where they would be sent. The browser keeps them until they are sent, also when the page is reloaded.

import { Cell } from './cell.ts'
import { readStoredPairs, storageKey, writeStored } from './workspace-storage.ts'

const place = storageKey('drafts')
const draftsMax = 100

const texts = new Map(readStoredPairs(place).map(([key, text]) => [key, String(text)]))
const drafts = new Map<string, Cell<string>>()

export function messageDraft(key: string): Cell<string> {
  const known = drafts.get(key)
  if (known) return known
  const draft = new Cell(texts.get(key) ?? '')
  drafts.set(key, draft)
  draft.listen(() => keep(key, draft.value))
  return draft
}

function keep(key: string, text: string): void {
  texts.delete(key)
  if (text !== '') texts.set(key, text)
  while (texts.size > draftsMax) texts.delete(texts.keys().next().value as string)
  writeStored(place, JSON.stringify([...texts]))
}
