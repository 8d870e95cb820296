// Formats runs as lines for people.

import { sizeText } from '@agent-relay/sdk/internal/size-text'
import { spendText } from '@agent-relay/sdk/internal/spend-text'
import type { Run } from '@agent-relay/sdk/protocol'
import { firstLine } from '../../../core/first-line.ts'
import type { Column, Print } from '../../print.ts'
import { ageOf, clean, dateTimeOf, oneLine } from '../../text.ts'

/** The table of runs, with what they have spent where that is known of any. */
export function table(runs: (Run & { title?: string })[]): { columns: Column[]; rows: string[][] } {
  const at = columns.findIndex(({ head }) => head === 'TASK')
  const isSpent = runs.some(({ spend }) => spend)
  const rows = runs.map((run) => (isSpent ? row(run).toSpliced(at, 0, spentText(run)) : row(run)))
  return { columns: isSpent ? columns.toSpliced(at, 0, { head: 'SPENT', spare: 4 }) : columns, rows }
}

const columns: Column[] = [
  { head: 'ID' },
  { head: 'STATUS' },
  { head: 'AGENT', mayShrink: true },
  { head: 'HARNESS', spare: 2 },
  { head: 'STARTED', spare: 1 },
  { head: 'TASK', mayShrink: true, spare: 3 },
  { head: 'RESULT', mayShrink: true },
]

function row(run: Run & { title?: string }): string[] {
  const { id, agent, harness, startedAt, summary, preview = '', title = '' } = run
  const what = summary ?? (run.status === 'stopped' ? why(run).replace(/^: /, '') : lastLine({ ...run, preview }))
  const status = run.blocked === undefined ? run.status : 'blocked'
  return [id, status, agent, harness, ageOf(startedAt), title, what].map(oneLine)
}

function spentText({ spend }: Run): string {
  return spend ? spendText(spend) : ''
}

export function why({ stopReason }: Run): string {
  return stopReason === undefined ? '' : `: ${stopReason}`
}

export function block(print: Print, run: Run): string {
  const {
    id,
    agent,
    harness,
    parent,
    status,
    startedAt,
    completedAt,
    stoppedAt,
    summary,
    payloadSize,
    preview,
    contract,
    again,
  } = run
  const ended = completedAt ?? stoppedAt
  const times = `started ${dateTimeOf(startedAt)}${ended === undefined ? '' : `, ended ${dateTimeOf(ended)}`}`
  const stuck = run.blocked === undefined ? '' : `, blocked: ${run.blocked}. To look: agent-relay attach ${agent}`
  const head = `${print.paint('bold', id)} ${status}${print.typed(oneLine(stuck + why(run)))}`
  const lines = [head, ...(contract === undefined ? [] : [`  contract: ${oneLine(firstLine(contract))}`])]
  lines.push(
    `  ${oneLine(`${agent} (${harness}), for ${parent}, ${times}${again === undefined ? '' : `, again after ${again}`}`)}`,
  )
  if (run.spend) lines.push(`  ${spentText(run)}`)
  if (payloadSize !== undefined)
    lines.push(print.typed(`  payload ${sizeText(payloadSize)}: agent-relay runs payload ${id}`))
  const text = summary ?? preview
  if (text !== undefined && text !== '') lines.push(clean(text).trimEnd().replace(/^/gm, '  '))
  return lines.join('\n')
}

export function lastLine({ preview = '' }: Run): string {
  return oneLine(preview.trimEnd().split('\n').at(-1) ?? '')
}
