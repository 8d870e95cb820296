// Filters the output of a worker's program before this terminal shows it: sequences that draw are kept, and commands to the terminal itself are removed. An
// agent must not be able to set the clipboard (OSC 52), rename a window or query the terminal.

const stringStarts = new Set([']', 'P', 'X', '^', '_'])
/** Queries that the terminal would answer as if somebody had typed, such as for device attributes or status. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters.
const questions = /\u001b\[[?>=]?[0-9;]*(?:c|n|x)|\u001b\[[?>]?[0-9;]*u|\u001bZ|\u001b\[>[0-9;]*q|\u001b\[[0-9;]*t/g

/** Filters output in chunks. Unfinished sequences are kept for the next chunk. */
export class TerminalFilter {
  #isInString = false
  #rest = ''

  pass(chunk: string): string {
    let text = this.#rest + chunk
    this.#rest = ''
    let passed = ''
    while (text !== '') {
      if (this.#isInString) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: a string ends with BEL or ST.
        const end = /\u0007|\u001b\\|\u009c/.exec(text)
        // The string goes on in the next chunk. An ESC at the end may be the first half of its terminator.
        if (!end) return this.#keep(passed, text.endsWith('\u001b') ? '\u001b' : '')
        this.#isInString = false
        text = text.slice(end.index + end[0].length)
        continue
      }
      // biome-ignore lint/suspicious/noControlCharactersInRegex: every sequence begins with one of these.
      const start = /[\u001b\u0090\u0098\u009d-\u009f]/.exec(text)
      if (!start) return passed + text
      passed += text.slice(0, start.index)
      text = text.slice(start.index)
      const sequence = sequenceOf(text)
      if (sequence === undefined) return this.#keep(passed, text)
      if (sequence.isString) this.#isInString = true
      else passed += sequence.text.replace(questions, '')
      text = text.slice(sequence.text.length)
    }
    return passed
  }

  #keep(passed: string, rest: string): string {
    this.#rest = rest
    return passed
  }
}

/** Returns the control sequence at the start of `text`; undefined if its end is missing. */
function sequenceOf(text: string): { text: string; isString: boolean } | undefined {
  if (text[0] !== '\u001b') return { text: text[0] as string, isString: true }
  const second = text[1]
  if (second === undefined) return undefined
  if (stringStarts.has(second)) return { text: text.slice(0, 2), isString: true }
  if (second !== '[') return { text: text.slice(0, 2), isString: false }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a control sequence.
  const found = /^\u001b\[[0-?]*[ -/]*[@-~]/.exec(text)
  if (found) return { text: found[0], isString: false }
  // Control sequences are never this long, so only its first two characters are taken as one.
  return text.length > 64 ? { text: text.slice(0, 2), isString: false } : undefined
}
