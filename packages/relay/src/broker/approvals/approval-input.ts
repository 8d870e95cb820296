// Converts approvals (questions of agents that only a person may answer): the input as it is stored and listed (cleaned, cut if long, with a digest of the
// whole), and the end as the program that asked is told it.

import { createHash } from 'node:crypto'
import { clean, cleanLine } from '@agent-relay/sdk/internal/clean'
import { type Approval, type ApprovalClosed, limits, type Question } from '@agent-relay/sdk/protocol'
import type { OpenInput } from '../../core/approvals.ts'
import type { ApprovalRow } from '../../core/view.ts'
import { type ApprovalEnd, copyBeginning, type NewApproval } from './approval-runtime.ts'

const labelCharsMax = 200

export function approvalOpenInput(asked: NewApproval): OpenInput {
  const { agent, vendor, tool, input, inputChars = 0, isCut, directory, choices, questions, mark } = asked
  const all = [agent, vendor, tool, input, directory, choices, ...(questions ? [questions] : [])]
  const digest = createHash('sha256').update(JSON.stringify(all))
  const cut = clean(copyBeginning(input, limits.approvalInputCharsMax))
  const hiddenChars = Math.max(input.length, inputChars) - Math.min(input.length, limits.approvalInputCharsMax)
  const hiddenLines = linesIn(input) - linesIn(copyBeginning(input, limits.approvalInputCharsMax))
  const isExact = cut === input && hiddenChars === 0 && !isCut
  const whole =
    input.length > limits.approvalInputCharsMax ? copyBeginning(input, limits.approvalWholeCharsMax) : undefined
  return {
    ...{ agent, vendor, tool: cleanLabel(tool), input: cut, isExact, directory },
    ...(hiddenChars > 0 ? { hiddenChars, hiddenLines } : {}),
    ...(whole === undefined ? {} : wholeInput(whole, Math.max(input.length, inputChars))),
    choices: choices.map(({ id, kind, label }) => ({ id, kind, ...(label ? { label: cleanLabel(label) } : {}) })),
    ...(questions ? { questions: questions.map(cleanQuestion) } : {}),
    ...(mark === undefined ? {} : { mark }),
    digest: digest.digest('hex').slice(0, 32),
  }
}

function wholeInput(text: string, chars: number): Pick<OpenInput, 'whole' | 'isWhole'> {
  const whole = clean(text)
  return { whole, isWhole: whole.length === chars && whole === text }
}

function linesIn(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

/** Cleans a question. Labels are cleaned, but never cut: an option with a cut label could not be chosen. */
function cleanQuestion({ text, options, isMany }: Question): Question {
  const shown = options.map((each) => ({
    label: cleanLine(each.label),
    ...(each.text ? { text: clean(each.text) } : {}),
  }))
  return { text: clean(text), options: shown, ...(isMany ? { isMany } : {}) }
}

function cleanLabel(text: string): string {
  return cleanLine(copyBeginning(text, 2 * labelCharsMax)).slice(0, labelCharsMax)
}

/** Converts an approval's row to the object that lists contain. */
export function listedApproval({ isExact, hiddenChars = 0, hiddenLines, ...row }: ApprovalRow): Approval {
  const { id, agent, vendor, tool, input, directory, machine, choices, questions, at, digest } = row
  const hidden = isExact ? {} : { hidden: { chars: hiddenChars, ...(hiddenLines ? { lines: hiddenLines } : {}) } }
  const where = { ...(directory === undefined ? {} : { directory }), ...(machine === undefined ? {} : { machine }) }
  return {
    id,
    agent,
    vendor,
    tool,
    input,
    ...hidden,
    ...where,
    choices,
    ...(questions ? { questions } : {}),
    since: new Date(at).toISOString(),
    digest,
  }
}

/** Converts an approval's row to an object with the whole stored input. `whole` is undefined if the row itself has all of the input. */
export function wholeApproval(row: ApprovalRow, whole: string | undefined): Approval {
  if (whole === undefined) return listedApproval(row)
  const all = limits.approvalInputCharsMax + (row.hiddenChars ?? 0)
  const hiddenChars = Math.max(0, all - limits.approvalWholeCharsMax)
  const { isWhole: isExact = false } = row
  return listedApproval({ ...row, input: whole, isExact, hiddenChars, hiddenLines: undefined })
}

/** Converts the fact that an approval was closed to what the program that asked is told. */
export function approvalEndOf({
  how,
  choice,
  kind,
  words,
  answers,
}: Omit<ApprovalClosed, 'type' | 'id' | 'agent'>): ApprovalEnd {
  if (how !== 'answered' || choice === undefined || kind === undefined) return { how } as ApprovalEnd
  return { how, choice, kind, ...(words === undefined ? {} : { words }), ...(answers ? { answers } : {}) }
}

/** Makes the map key of an open approval from the asking session and that session's own key. No session can close the approvals of another by it. */
export function approvalSource({ id }: { id: string }, key: string): string {
  return `${id}/${key}`
}
