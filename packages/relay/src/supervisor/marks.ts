// Two things that a program tells its terminal and that must be known without drawing a screen: its title, and whether a paste may be marked as one.

const esc = '\x1b'
const mark = new RegExp(
  [`${esc}\\](?:0|2);([^\x07${esc}]*)(?:\x07|${esc}\\\\)`, `${esc}\\[\\?([\\d;]*)([hl])`, `${esc}c`].join('|'),
  'g',
)
/** A mark that is longer is none. */
const markCharsMax = 1_024
const bracketedPaste = '2004'

export class Marks {
  title = ''
  /** Titles that were set so far: one that came and went again was there. */
  titles = 0
  isPasteMarked = false
  #rest = ''

  follow(data: Uint8Array): void {
    // Most of a flood has no mark in it.
    if (this.#rest === '' && data.indexOf(0x1b) < 0) return
    const text = this.#rest + Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1')
    let end = 0
    for (const found of text.matchAll(mark)) {
      end = found.index + found[0].length
      const [whole, title, modes, set] = found
      if (title !== undefined) this.#entitle(Buffer.from(title, 'latin1').toString('utf8'))
      else if (modes?.split(';').includes(bracketedPaste)) this.isPasteMarked = set === 'h'
      else if (whole === `${esc}c`) this.isPasteMarked = false
    }
    // One may have been cut in two.
    const open = text.indexOf(esc, Math.max(end, text.length - markCharsMax))
    this.#rest = open < 0 ? '' : text.slice(open)
  }

  #entitle(title: string): void {
    if (title !== this.title) this.titles++
    this.title = title
  }
}
