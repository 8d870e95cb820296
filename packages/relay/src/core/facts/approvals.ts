// Rows of the table of facts (stored events) about approvals. Only the machine on which an agent waits reports the wait and how it ended: otherwise an
// answer from another machine could let a program on this one go on.

import { approvalHows } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { type Reader, sees } from '../sight.ts'
import type { View } from '../view.ts'
import { type FactRows, onlyNamedMachine } from './row.ts'
import {
  type FieldCheck,
  hasFields,
  isCount,
  isFlag,
  isLabel,
  isListOf,
  isLongText,
  isOneOf,
  isText,
  optional,
} from './shape.ts'

const toReadersOfApproval = {
  to: 'everyone',
  if: (view: View, reader: Reader, fact: { agent: string }) => sees(view, reader, 'approval', fact),
} as const
/** Checks an approval's id, which contains the approval's number. */
const id: FieldCheck = (value) => isText(value) && /^ap-\d{1,15}$/.test(value as string)
const kind = isOneOf('allow', 'always', 'deny', 'other')
const option = hasFields({ label: isText, text: optional(isLongText) })
const approvalKeys = () => [conflictKeys.approvals]

export const approvalFacts: FactRows<`approval.${string}`> = {
  'approval.opened': {
    shape: {
      id,
      agent: isLabel,
      vendor: isLabel,
      tool: isLongText,
      input: isLongText,
      isExact: isFlag,
      hiddenChars: optional(isCount),
      hiddenLines: optional(isCount),
      isWhole: optional(isFlag),
      directory: optional(isText),
      choices: isListOf(hasFields({ id: isText, kind, label: optional(isText) })),
      questions: optional(
        isListOf(hasFields({ text: isLongText, options: isListOf(option), isMany: optional(isFlag) })),
      ),
      mark: optional(isText),
      digest: isText,
      machine: optional(isLabel),
    },
    mayAppend: (fact, by) => onlyNamedMachine(fact, by) && by.speaksFor(fact.agent),
    audience: toReadersOfApproval,
    changedKeys: approvalKeys,
    prunableWhen: { oldAnd: ({ id }, left) => left.isApprovalOver(id) },
  },
  'approval.closed': {
    shape: {
      id,
      agent: isLabel,
      how: isOneOf(...approvalHows),
      kind: optional(kind),
      choice: optional(isText),
      words: optional(isLongText),
      answers: optional(isListOf(isLongText)),
      surface: optional(isOneOf('page', 'terminal', 'delegation')),
      delegation: optional(isLongText),
      asker: optional(isLabel),
    },
    mayAppend: ({ id, agent }, { view, actsFor }) => {
      const row = view.approvals.byId(id)
      return row !== undefined && row.agent === agent && actsFor(row.machine)
    },
    audience: toReadersOfApproval,
    changedKeys: approvalKeys,
    prunableWhen: { oldAnd: ({ id }, left) => left.isApprovalOver(id) },
  },
}
