// Rows of the table of facts (stored events) about approvals. Only the machine on which an agent waits reports the wait and how it ended: otherwise an
// answer from another machine could let a program on this one go on.

import { approvalHows } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { type Reader, sees } from '../sight.ts'
import type { View } from '../view.ts'
import { type FactRows, namesItself } from './row.ts'
import { type Check, count, fields, flag, label, listOf, maybe, oneOf, text, words } from './shape.ts'

const seen = {
  to: 'everyone',
  if: (view: View, reader: Reader, fact: { agent: string }) => sees(view, reader, 'approval', fact),
} as const
/** Checks an approval's id, which contains the approval's number. */
const id: Check = (value) => text(value) && /^ap-\d{1,15}$/.test(value as string)
const kind = oneOf('allow', 'always', 'deny', 'other')
const option = fields({ label: text, text: maybe(words) })
const writes = () => [keys.approvals]

export const approvalFacts: FactRows<'approval.opened' | 'approval.closed'> = {
  'approval.opened': {
    shape: {
      id,
      agent: label,
      vendor: label,
      tool: words,
      input: words,
      isExact: flag,
      hiddenChars: maybe(count),
      hiddenLines: maybe(count),
      isWhole: maybe(flag),
      directory: maybe(text),
      choices: listOf(fields({ id: text, kind, label: maybe(text) })),
      questions: maybe(listOf(fields({ text: words, options: listOf(option), isMany: maybe(flag) }))),
      mark: maybe(text),
      digest: text,
      machine: maybe(label),
    },
    said: (fact, by) => namesItself(fact, by) && by.speaksFor(fact.agent),
    seen,
    writes,
    over: { once: ({ id }, left) => left.isApprovalOver(id) },
  },
  'approval.closed': {
    shape: {
      id,
      agent: label,
      how: oneOf(...approvalHows),
      kind: maybe(kind),
      choice: maybe(text),
      words: maybe(words),
      answers: maybe(listOf(words)),
      surface: maybe(oneOf('page', 'terminal', 'delegation')),
      delegation: maybe(words),
      asker: maybe(label),
    },
    said: ({ id, agent }, { view, actsFor }) => {
      const row = view.approvals.byId(id)
      return row !== undefined && row.agent === agent && actsFor(row.machine)
    },
    seen,
    writes,
    over: { once: ({ id }, left) => left.isApprovalOver(id) },
  },
}
