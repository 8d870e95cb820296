// Reads a dialog off a worker's screen: the lines of its question, and the choices with the keys that choose them.

import type { ApprovalChoice } from '@agent-relay/sdk/protocol'
import type { Dialog } from './dialog.ts'

export interface ScreenDialog {
  /** The question, without its choices. */
  text: string
  choices: ApprovalChoice[]
  /** The command that the dialog asks about, if the dialog shows it. */
  command?: string
}

/** Reads the dialog on the screen. `press`: types the key that chooses an answer. */
export function readScreenDialog(lines: readonly string[], press: (key: string) => Promise<void>): Dialog {
  const dialog = parseScreenDialog(lines)
  const { text, choices, command } = dialog
  const what = command === undefined ? { tool: 'dialog', input: text } : { tool: 'shell', input: command }
  const isCut = cutMark.test(text) || changesElsewhere.test(text)
  return { identity: identityOf(dialog), ...what, isCut, choices, answer: ({ choice }) => press(choice) }
}

/** A choice, such as `❯ 1. Yes` or `  2) No`: the number is the key that chooses it. */
const choiceLine = /^[\s│┃|]*(?:[❯›>●•*]\s*)?([1-9])[.)]\s+(\S.*?)[\s│┃|]*$/u
/** A line that consists of nothing but the characters of a frame. */
const frame = /^[\s─━│┃╭╮╰╯┌┐└┘╌═║>❯-]*$/u
/** Maximum number of lines of the question, and of lines above the choices in which the question's beginning is searched. */
const [textLinesMax, linesMax] = [40, 200]
/** Symbols and seconds that keep changing while a program works. They are no part of the question. */
const workSigns = [/^[●⏺○◦•∙·✻✽✶✳✢⠀-⣿◐◓◑◒\s]+/gmu, /(?<=\()(?:\d+[hm] ?)*\d+s\b/gu]

/** Parses the dialog in these lines. If no choices can be read, a person is asked all the same, and answers at the terminal. */
export function parseScreenDialog(lines: readonly string[]): ScreenDialog {
  const written = lines.map((line) => line.trimEnd())
  const at = written.findLastIndex((line) => choiceLine.exec(line)?.[1] === '1')
  const choices = at < 0 ? [] : choicesFrom(written.slice(at))
  const above = (at < 0 ? written : written.slice(0, at)).slice(-linesMax).map(withoutFrame)
  const asked = above.slice(beginOf(above))
  const text = asked.filter((line) => !frame.test(line)).slice(-textLinesMax)
  return { text: text.join('\n'), choices, command: commandIn(asked) }
}

function withoutFrame(line: string): string {
  return line.replace(/^[\s│┃|]+|[\s│┃|]+$/gu, '')
}

/** A line with a question whose subject is below it. */
const question = /^(?:would you like|do you want|allow|approve|trust|are you sure)\b.*\?$/i
/** The last line of a text that Codex has shortened; and Codex's question about file changes, above which only a few lines of each change are shown. */
const [cutMark, changesElsewhere] = [/^\[… \d+ lines\].*$/mu, /^Would you like to make the following edits\?/]
/** A horizontal line that a program draws. */
const drawn = /^[─━╭╮┌┐╌═-]*[─━═╌]{3}[─━╭╮┌┐╌═-]*$/u

/** Returns the index of the line where the question begins. Lines above it belong to an earlier question or to the conversation. */
function beginOf(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line !== '' && !frame.test(line))
  const asking = lines.findLastIndex((line, i) => i < last && question.test(line))
  return asking >= 0 ? asking : lines.findLastIndex((line, i) => i < last && drawn.test(line)) + 1
}

/**
 * Returns the command that Codex shows below its question: `$ touch a`; a long command continues on the next lines. Undefined if anything but a
 * reason is there too: a model may print such a question above the dialog of another program, which the question would hide.
 */
function commandIn([first = '', ...lines]: readonly string[]): string | undefined {
  if (!/\brun the following command\?$/i.test(first)) return undefined
  const parts = lines
    .join('\n')
    .trim()
    .split(/\n{2,}/)
  const command = parts.pop() ?? ''
  const isAll = parts.every((part) => /^(?:Environment|Reason): /.test(part)) && !cutMark.test(command)
  return command.startsWith('$ ') && isAll ? command.slice('$ '.length) : undefined
}

/** Reads the choices, which are numbered from 1 without a gap. A label may continue on the lines below, and these may say what the choice grants. */
function choicesFrom(lines: readonly string[]): ApprovalChoice[] {
  const found: { label: string; column: number }[] = []
  let last: (typeof found)[number] | undefined
  for (const line of lines) {
    const [, id, label = ''] = choiceLine.exec(line) ?? []
    const column = line.search(/[^\s│┃|]/u)
    if (id === undefined) {
      if (last && column >= last.column && !frame.test(line))
        last.label += ` ${line.replace(/^[\s│┃|]+|[\s│┃|]+$/gu, '')}`
      else last = undefined
      continue
    }
    if (Number(id) !== found.length + 1) break
    last = { label, column: line.search(/[1-9][.)]/u) + '1. '.length }
    found.push(last)
  }
  if (found.length < 2) return []
  return found.map(({ label }, at) => ({ id: String(at + 1), kind: kindOf(label), label: label.slice(0, 200) }))
}

/** The key that chooses an answer, as its label ends: `Yes, proceed (y)`. */
const keyHint = /\s*\((?:[a-z\d]|esc|enter|return|tab|shift\+tab|ctrl[+-][a-z])\)$/i
const onceWords = '(?:,? (?:just )?(?:this )?(?:once|time))?'
/** Patterns of labels that allow this one action only. A label with more words may grant more. */
const once = [
  `(?:yes|ok|okay)(?:, (?:proceed|continue|allow|approve|run)(?: it)?)?${onceWords}`,
  `(?:allow|approve|accept|proceed|continue|run)(?: it)?${onceWords}`,
].map((words) => new RegExp(`^${words}$`, 'i'))

/**
 * Returns the kind of a choice, by its label. A permission that lasts longer than the session is not `always` but `other`, since the program would
 * write it into a file.
 */
function kindOf(label: string): ApprovalChoice['kind'] {
  const bare = label.replace(keyHint, '').replace(/[.!]$/, '')
  if (once.some((each) => each.test(bare))) return 'allow'
  const isForSession = /\bsession\b/i.test(label)
  const lasts = isForSession || /\b(?:don['’]t ask|always|never|again|remember|all)\b/i.test(label)
  if (/^(?:no|deny|reject|cancel|exit|quit)\b/i.test(label)) return lasts ? 'other' : 'deny'
  return isForSession && /^(?:yes|allow|approve|proceed|accept|continue|ok)\b/i.test(label) ? 'always' : 'other'
}

/** Returns a text that identifies the dialog. Spaces are left out, since a terminal of another width breaks the same words into other lines. */
function identityOf({ text, choices }: ScreenDialog): string {
  const still = workSigns.reduce((left, each) => left.replace(each, ''), text)
  return [still, ...choices.map(({ label }) => label)].map((each) => each?.replace(/\s+/gu, '')).join('\n')
}
