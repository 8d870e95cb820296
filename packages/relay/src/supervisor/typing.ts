// Puts a text into a program's prompt as a person would: paste it, pause, press Enter, and look whether it was accepted.

import type { ScreenSign } from './harness/harness.ts'

export interface Keyboard {
  write(data: string): Promise<void>
  /** Whether the program understands marks around a paste (bracketed paste). */
  supportsPasteMarks(): boolean
  /** Reads the screen's present state. */
  look(): Promise<ScreenState>
  /** Resolves when the program has printed something beyond this position of its output, or after `ms` milliseconds. */
  whenPrinted(position: number, ms: number): Promise<void>
  isEnded(): boolean
}

export interface ScreenState {
  sign: ScreenSign | undefined
  /** A counter that grows with every byte of output. */
  position: number
  /** A counter that grows with every change of the title. */
  titleChanges: number
}

export interface TypingOptions {
  enterDelayMs: number
}

const [pasteBegin, pasteEnd] = ['\x1b[200~', '\x1b[201~']
/** Minimum delay between a paste and Enter, whatever a harness says: every CLI needs this much. */
const enterDelayMsMin = 100
/** Time to wait for a sign that Enter was accepted, before Enter is pressed again. An Enter on an empty prompt does nothing. */
const confirmMs = 1_500
const entersMax = 3
const typedLineBytesMax = 3_900

/** Pastes a text, from which the caller has removed control characters. Resolves when the program's terminal has taken the text. */
export async function pasteText(keyboard: Keyboard, text: string): Promise<void> {
  // Without marks around the paste, each newline would count as Enter, and a tab would ask for completions, so both become spaces.
  const isMarked = keyboard.supportsPasteMarks()
  const plain = isMarked ? text : text.replace(/\s*\n\s*/g, ' ').replaceAll('\t', ' ')
  await keyboard.write(isMarked ? `${pasteBegin}${plain}${pasteEnd}` : splitIntoLines(plain))
}

/** Splits a text into lines: a terminal in line mode cuts each line off at 4,096 bytes without an error. */
function splitIntoLines(text: string): string {
  const lines: string[] = []
  let rest = Buffer.from(text)
  while (rest.length > typedLineBytesMax) {
    const blank = rest.lastIndexOf(' ', typedLineBytesMax)
    // A character is not split: the bytes after its first have the form 10xxxxxx.
    let end = blank > typedLineBytesMax / 2 ? blank + 1 : typedLineBytesMax
    while (((rest[end] as number) & 0xc0) === 0x80) end--
    lines.push(rest.subarray(0, end).toString())
    rest = rest.subarray(end)
  }
  return [...lines, rest.toString()].join('\r')
}

/**
 * Presses Enter. True: the text was submitted, as far as can be seen. False: a dialog has opened, and Enter was not pressed. `onPressed` is called at
 * the first Enter and not when it is confirmed, since a quick agent may have answered by then.
 */
export async function pressEnter(keyboard: Keyboard, typing: TypingOptions, onPressed: () => void): Promise<boolean> {
  for (let enters = 0; enters < entersMax && !keyboard.isEnded(); enters++) {
    await wait(Math.max(typing.enterDelayMs, enterDelayMsMin))
    const before = await keyboard.look()
    if (enters === 0 && before.sign === 'blocked') return false
    // The program is slow, and has accepted the first Enter meanwhile.
    if (enters > 0 && (before.sign === 'busy' || before.sign === 'blocked')) return true
    await keyboard.write('\r')
    if (enters === 0) onPressed()
    if (await isEnterAccepted(keyboard, before)) return true
  }
  return true
}

/** Waits for a sign that Enter was accepted: that the program is busy, a dialog, or a changed title; for a program that shows no signs, any output. */
async function isEnterAccepted(keyboard: Keyboard, before: ScreenState): Promise<boolean> {
  const deadline = performance.now() + confirmMs
  while (!keyboard.isEnded()) {
    const { sign, position, titleChanges } = await keyboard.look()
    if (sign === 'busy' || sign === 'blocked' || titleChanges !== before.titleChanges) return true
    if (sign === undefined && position !== before.position) return true
    const left = deadline - performance.now()
    if (left <= 0) return false
    await keyboard.whenPrinted(position, left)
  }
  return true
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
