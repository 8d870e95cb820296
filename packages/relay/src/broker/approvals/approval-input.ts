// The input of an approval (a question that only a person may answer) as it is stored and shown: cleaned, cut if long, with a digest of the whole; and the
// approval's end as its asker is told it.

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

/** Makes the form of an approval that lists show. */
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

/** Makes the form of an approval with its whole stored input. `whole` is undefined if the row itself has all of the input. */
export function wholeApproval(row: ApprovalRow, whole: string | undefined): Approval {
  if (whole === undefined) return listedApproval(row)
  const all = limits.approvalInputCharsMax + (row.hiddenChars ?? 0)
  const hiddenChars = Math.max(0, all - limits.approvalWholeCharsMax)
  const { isWhole: isExact = false } = row
  return listedApproval({ ...row, input: whole, isExact, hiddenChars, hiddenLines: undefined })
}

/** Makes the form of an approval's end that its asker is told. */
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

/** Makes the source of an approval, which identifies its asker. It includes the session, so that no session closes the approvals of another. */
export function approvalSource({ id }: { id: string }, key: string): string {
  return `${id}/${key}`
}
