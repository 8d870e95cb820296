// The documents that asked for the system, read from the folder that the run was given. Examples are found in them by a pattern; none of their
// text is in this repository.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const numbers = ['000', '001', '002', '003', '004']

class Document {
  constructor(number, text) {
    this.number = number
    this.text = text
  }

  /** What the pattern finds: its first group, or all of it. */
  find(pattern) {
    const found = pattern.exec(this.text)
    if (!found) throw new Error(`document ${this.number} has nothing like ${pattern}`)
    return found[1] ?? found[0]
  }

  all(pattern) {
    const found = [...this.text.matchAll(pattern)]
    if (found.length === 0) throw new Error(`document ${this.number} has nothing like ${pattern}`)
    return found
  }

  /** The first block of code behind a heading, or behind any other line that begins so. */
  block(heading) {
    const at = this.text.indexOf(`\n${heading}`)
    if (at < 0) throw new Error(`document ${this.number} has no heading ${heading}`)
    return /^```\w*\n([\s\S]*?)^```$/m.exec(this.text.slice(at))[1]
  }
}

/** Answers them by their numbers, with which the names of their files begin. */
export function documentsIn(folder) {
  const names = readdirSync(folder)
  const found = numbers.map((number) => {
    const name = names.find((each) => each.startsWith(`${number}_`))
    if (name === undefined) throw new Error(`${folder} holds no document ${number}`)
    // One of them was stored with a bar between its lines.
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    return [number, new Document(number, lines.filter((line) => line !== '|').join('\n'))]
  })
  return Object.fromEntries(found)
}
