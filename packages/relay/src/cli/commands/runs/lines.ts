// Formats runs as lines for people.

import { sizeText } from '@agent-relay/sdk/internal/size-text'
import { spendText } from '@agent-relay/sdk/internal/spend-text'
import type { Run } from '@agent-relay/sdk/protocol'
import { firstLine } from '../../../core/first-line.ts'
import type { Printer, TableColumn } from '../../print.ts'
import { ageText, cleanText, dateTimeText, oneLine } from '../../text.ts'

/** Returns the table of runs. It has a column for tokens and cost if these are known of any run. */
export function runTable(runs: (Run & { title?: string })[]): { columns: TableColumn[]; rows: string[][] } {
  const at = columns.findIndex(({ head }) => head === 'TASK')
  const isSpent = runs.some(({ spend }) => spend)
  const rows = runs.map((run) => (isSpent ? row(run).toSpliced(at, 0, spentText(run)) : row(run)))
  return { columns: isSpent ? columns.toSpliced(at, 0, { head: 'SPENT', dropRank: 4 }) : columns, rows }
}

const columns: TableColumn[] = [
  { head: 'ID' },
  { head: 'STATUS' },
  { head: 'AGENT', mayShrink: true },
  { head: 'CLI', dropRank: 2 },
  { head: 'STARTED', dropRank: 1 },
  { head: 'TASK', mayShrink: true, dropRank: 3 },
  { head: 'RESULT', mayShrink: true },
]

function row(run: Run & { title?: string }): string[] {
  const { id, agent, harness, startedAt, summary, preview = '', title = '' } = run
  const what =
    summary ??
    (run.status === 'stopped' ? stopReasonText(run).replace(/^: /, '') : lastPreviewLine({ ...run, preview }))
  const status = run.blocked === undefined ? run.status : 'blocked'
  return [id, status, agent, harness, ageText(startedAt), title, what].map(oneLine)
}

function spentText({ spend }: Run): string {
  return spend ? spendText(spend) : ''
}

export function stopReasonText({ stopReason }: Run): string {
  return stopReason === undefined ? '' : `: ${stopReason}`
}

export function runBlock(print: Printer, run: Run): string {
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
  const times = `started ${dateTimeText(startedAt)}${ended === undefined ? '' : `, ended ${dateTimeText(ended)}`}`
  const stuck = run.blocked === undefined ? '' : `, blocked: ${run.blocked}. To look: agent-relay attach ${agent}`
  const head = `${print.paint('bold', id)} ${status}${print.typed(oneLine(stuck + stopReasonText(run)))}`
  const lines = [head, ...(contract === undefined ? [] : [`  contract: ${oneLine(firstLine(contract))}`])]
  lines.push(
    `  ${oneLine(`${agent} (${harness}), for ${parent}, ${times}${again === undefined ? '' : `, again after ${again}`}`)}`,
  )
  if (run.spend) lines.push(`  ${spentText(run)}`)
  if (payloadSize !== undefined)
    lines.push(print.typed(`  payload ${sizeText(payloadSize)}: agent-relay runs payload ${id}`))
  const text = summary ?? preview
  if (text !== undefined && text !== '') lines.push(cleanText(text).trimEnd().replace(/^/gm, '  '))
  return lines.join('\n')
}

export function lastPreviewLine({ preview = '' }: Run): string {
  return oneLine(preview.trimEnd().split('\n').at(-1) ?? '')
}
