// A text into a program's prompt, as a person would paste it: the paste, a pause, Enter, and a look whether it was taken.

import type { Sign } from './harness/harness.ts'

export interface Keyboard {
  write(data: string): Promise<void>
  /** The program understands the marks around a paste. */
  isPasteMarked(): boolean
  /** What the screen tells now. */
  look(): Promise<Look>
  /** Resolves when it has printed something beyond a position, or after so many milliseconds. */
  printed(position: number, ms: number): Promise<void>
  isEnded(): boolean
}

export interface Look {
  sign: Sign | undefined
  /** Grows with every byte that it prints. */
  position: number
  /** Grows with every other title that the program sets. */
  titles: number
}

export interface TypingOptions {
  enterDelayMs: number
}

const [pasteBegin, pasteEnd] = ['\x1b[200~', '\x1b[201~']
/** The CLIs need this much between a paste and Enter, whatever a harness says. */
const enterDelayMsMin = 100
/** No sign that Enter was taken within this: it is pressed again. An Enter on an empty prompt does nothing. */
const confirmMs = 1_500
const entersMax = 3
const lineBytesMax = 3_900

/** `text` is cleaned already. Resolves when the program's terminal has taken it. */
export async function paste(keyboard: Keyboard, text: string): Promise<void> {
  // Without the marks each newline would be an Enter of its own, and a tab a question.
  const isMarked = keyboard.isPasteMarked()
  const plain = isMarked ? text : text.replace(/\s*\n\s*/g, ' ').replaceAll('\t', ' ')
  await keyboard.write(isMarked ? `${pasteBegin}${plain}${pasteEnd}` : inLines(plain))
}

/** A terminal that reads lines cuts one off at 4,096 bytes, silently: what is longer comes as several. */
function inLines(text: string): string {
  const lines: string[] = []
  let rest = Buffer.from(text)
  while (rest.length > lineBytesMax) {
    const blank = rest.lastIndexOf(' ', lineBytesMax)
    // Not inside a character: those of several bytes go on with bytes like 10xxxxxx.
    let end = blank > lineBytesMax / 2 ? blank + 1 : lineBytesMax
    while (((rest[end] as number) & 0xc0) === 0x80) end--
    lines.push(rest.subarray(0, end).toString())
    rest = rest.subarray(end)
  }
  return [...lines, rest.toString()].join('\r')
}

/**
 * True: submitted, as far as can be seen. False: a dialog came in between, and nothing was pressed into it. `onPressed` is told of the first
 * Enter, not of its confirmation: a quick agent has answered by then.
 */
export async function enter(keyboard: Keyboard, typing: TypingOptions, onPressed: () => void): Promise<boolean> {
  for (let enters = 0; enters < entersMax && !keyboard.isEnded(); enters++) {
    await wait(Math.max(typing.enterDelayMs, enterDelayMsMin))
    const before = await keyboard.look()
    if (enters === 0 && before.sign === 'blocked') return false
    // A slow one has taken the first Enter meanwhile.
    if (enters > 0 && (before.sign === 'busy' || before.sign === 'blocked')) return true
    await keyboard.write('\r')
    if (enters === 0) onPressed()
    if (await isTaken(keyboard, before)) return true
  }
  return true
}

/** A busy sign, a dialog, or a title that went and came back; from a program without signs anything that it prints. */
async function isTaken(keyboard: Keyboard, before: Look): Promise<boolean> {
  const deadline = performance.now() + confirmMs
  while (!keyboard.isEnded()) {
    const { sign, position, titles } = await keyboard.look()
    if (sign === 'busy' || sign === 'blocked' || titles !== before.titles) return true
    if (sign === undefined && position !== before.position) return true
    const left = deadline - performance.now()
    if (left <= 0) return false
    await keyboard.printed(position, left)
  }
  return true
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
