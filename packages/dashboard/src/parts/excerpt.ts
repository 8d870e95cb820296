// The part of a text in which a search found something: the sentence around the first hit, in pieces, so that the hits can be marked.

import { clean } from '@agent-relay/sdk/internal/page'
import { previewOf } from './markdown-tree.ts'

export interface Piece {
  text: string
  isHit: boolean
}

/** The most characters that are shown before a hit and from the hit on. */
const [beforeMax, afterMax] = [80, 200]
const searchedCharsMax = 100_000

/** Returns the sentence around the first hit of a search; the beginning of the text if no word of the search is found in it. */
export function excerptOf(body: string, search: string): Piece[] {
  const hits = hitsOf(search)
  const text = clean(body.slice(0, searchedCharsMax))
  const at = hits ? folded(text).search(hits) : -1
  const sentence = at < 0 ? '' : previewOf(sentenceAt(text, at))
  // If the word was found only in the URL of a link, which the sentence does not show, shows the beginning of the text.
  if (!hits || folded(sentence).search(hits) < 0) return [{ text: previewOf(body), isHit: false }]
  return piecesOf(sentence, hits)
}

function sentenceAt(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - beforeMax), at)
  const [begun = ''] = /(?:[^.!?\n]|[.!?](?!\s))*$/.exec(before) ?? []
  const isCut = begun.length === before.length && at > beforeMax
  const start = isCut ? begun.replace(/^\S*\s/, '') : begun.trimStart()
  const [rest = ''] = /^(?:[^.!?\n]|[.!?](?!\s|$))*[.!?]?/.exec(text.slice(at, at + afterMax)) ?? []
  return `${isCut ? '… ' : ''}${start}${rest}`
}

function piecesOf(text: string, hits: RegExp): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: found, index } of folded(text).matchAll(hits)) {
    pieces.push({ text: text.slice(end, index), isHit: false })
    end = index + found.length
    pieces.push({ text: text.slice(index, end), isHit: true })
  }
  return [...pieces, { text: text.slice(end), isHit: false }].filter((piece) => piece.text !== '')
}

/** A pattern for the words and phrases of a search; undefined if it has none. A star ends the beginning of a word. */
function hitsOf(search: string): RegExp | undefined {
  const asked = [...folded(search).matchAll(/"([^"]+)"?|[^\s"]+/g)].map(([whole, phrase]) => phrase ?? whole)
  const patterns = asked.flatMap((each) => {
    const words = each.match(/[\p{L}\p{N}]+/gu)
    return words
      ? [words.join('[^\\p{L}\\p{N}]+') + (each.endsWith('*') ? '[\\p{L}\\p{N}]*' : '(?![\\p{L}\\p{N}])')]
      : []
  })
  return patterns.length === 0 ? undefined : new RegExp(`(?<![\\p{L}\\p{N}])(?:${patterns.join('|')})`, 'giu')
}

/** The text without accents, as the search compares it. Each character stays at its place. */
const folded = (text: string): string => text.replace(/[\u00c0-\u024f]/g, (letter) => letter.normalize('NFD').charAt(0))
