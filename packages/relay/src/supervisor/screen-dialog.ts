// Reads a dialog off a worker's screen: the lines of its question, and the choices with the keys that choose them.

import type { ApprovalChoice } from '@agent-relay/sdk/protocol'
import type { Dialog } from './dialog.ts'

export interface ScreenDialog {
  /** The question, without its choices. */
  text: string
  choices: ApprovalChoice[]
  /** The command that the dialog asks about, where it shows one. */
  command?: string
}

/** The dialog on the screen. `press`: types the key that chooses an answer. */
export function readScreenDialog(lines: readonly string[], press: (key: string) => Promise<void>): Dialog {
  const dialog = parseScreenDialog(lines)
  const { text, choices, command } = dialog
  const what = command === undefined ? { tool: 'dialog', input: text } : { tool: 'shell', input: command }
  const isCut = cutMark.test(text) || changesElsewhere.test(text)
  return { identity: identityOf(dialog), ...what, isCut, choices, answer: ({ choice }) => press(choice) }
}

/** A choice, such as `❯ 1. Yes` or `  2) No`: the number is the key that chooses it. */
const choiceLine = /^[\s│┃|]*(?:[❯›>●•*]\s*)?([1-9])[.)]\s+(\S.*?)[\s│┃|]*$/u
/** A line of characters that frames are drawn with, and nothing else. */
const frame = /^[\s─━│┃╭╮╰╯┌┐└┘╌═║>❯-]*$/u
/** Most lines of the question, and how far above the choices its beginning is looked for. */
const [textLinesMax, linesMax] = [40, 200]
/** Signs and seconds that a program moves to show that it is at work. They are no part of the question. */
const workSigns = [/^[●⏺○◦•∙·✻✽✶✳✢⠀-⣿◐◓◑◒\s]+/gmu, /(?<=\()(?:\d+[hm] ?)*\d+s\b/gu]

/** The dialog in these lines. Where no choices can be read, the question is asked all the same, and answered at the terminal. */
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

/** A line that asks a question, with its subject below it. */
const question = /^(?:would you like|do you want|allow|approve|trust|are you sure)\b.*\?$/i
/** The last line of a text that Codex cuts; and its question about changes, of which a few lines each stand above the question. */
const [cutMark, changesElsewhere] = [/^\[… \d+ lines\].*$/mu, /^Would you like to make the following edits\?/]
/** A line that is drawn, not written. */
const drawn = /^[─━╭╮┌┐╌═-]*[─━═╌]{3}[─━╭╮┌┐╌═-]*$/u

/** The line where the question begins. Lines above it belong to something else: an earlier question, or conversation. */
function beginOf(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line !== '' && !frame.test(line))
  const asking = lines.findLastIndex((line, i) => i < last && question.test(line))
  return asking >= 0 ? asking : lines.findLastIndex((line, i) => i < last && drawn.test(line)) + 1
}

/**
 * The command in the form in which Codex shows it below its question: `$ touch a`; a long one goes on in the next lines. Only where nothing but
 * its reason stands there too: a model may print such a question above the dialog of another program, which would be hidden by it.
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

/** The choices, numbered from 1 on without a gap. A label may continue on the lines below, and may say there what it grants. */
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

/** The key that chooses an answer, in its label: `Yes, proceed (y)`. */
const keyHint = /\s*\((?:[a-z\d]|esc|enter|return|tab|shift\+tab|ctrl[+-][a-z])\)$/i
const onceWords = '(?:,? (?:just )?(?:this )?(?:once|time))?'
/** Labels that allow this one action only. A label with more words may grant more. */
const once = [
  `(?:yes|ok|okay)(?:, (?:proceed|continue|allow|approve|run)(?: it)?)?${onceWords}`,
  `(?:allow|approve|accept|proceed|continue|run)(?: it)?${onceWords}`,
].map((words) => new RegExp(`^${words}$`, 'i'))

/** The kind of a choice. One that lasts longer than this session is no `always`, since the program would write it into a file. */
function kindOf(label: string): ApprovalChoice['kind'] {
  const bare = label.replace(keyHint, '').replace(/[.!]$/, '')
  if (once.some((each) => each.test(bare))) return 'allow'
  const isForSession = /\bsession\b/i.test(label)
  const lasts = isForSession || /\b(?:don['’]t ask|always|never|again|remember|all)\b/i.test(label)
  if (/^(?:no|deny|reject|cancel|exit|quit)\b/i.test(label)) return lasts ? 'other' : 'deny'
  return isForSession && /^(?:yes|allow|approve|proceed|accept|continue|ok)\b/i.test(label) ? 'always' : 'other'
}

/** The dialog's identity. Spaces are left out: in a terminal of another width the same words stand in other lines. */
function identityOf({ text, choices }: ScreenDialog): string {
  const still = workSigns.reduce((left, each) => left.replace(each, ''), text)
  return [still, ...choices.map(({ label }) => label)].map((each) => each?.replace(/\s+/gu, '')).join('\n')
}
