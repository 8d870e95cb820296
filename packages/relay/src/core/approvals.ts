// Rules for approvals: actions that an agent may not take until somebody with authority says yes. The first answer wins, wherever it is given.
// broker/sessions/person.ts finds out who is a person; this file decides what a person may answer, and what an agent may answer under a delegation.
//
//   (none) → open → closed      closed → closed: another answer is refused and told how the approval was closed, another close changes nothing

import {
  type ApprovalChoice,
  type ApprovalClosed,
  type ApprovalOpened,
  type Delegation,
  limits,
  type Question,
} from '@agent-relay/sdk/protocol'
import { agoText } from './ago-text.ts'
import { isOnOtherMachine } from './homes.ts'
import { agentGivingCommand, type RemoteCaller, refuseForged, remoteCallerText } from './requests.ts'
import { type Reader, sees } from './sight.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { ApprovalRow, View } from './view.ts'

export interface OpenInput extends Omit<ApprovalOpened, 'type' | 'id' | 'machine'> {
  /** The whole input of the action to approve. Unset if `input` has all of it. */
  whole?: string
}

export function open(view: View, { input: { whole, ...input }, world }: Command<OpenInput>): Verdict {
  const { agent } = input
  if (!view.agent(agent)) return refuse('agent.unknown', { name: agent })
  const count = view.approvals.count()
  const own = view.approvals.of(agent).length
  if (own >= limits.approvalsOfAgentMax) return refuse('approval.too-many', { count: own })
  if (count >= limits.approvalsMax) return refuse('approval.too-many', { count })
  // People type the id, so it is short. It counts up, so that no id is given twice.
  const id = `ap-${view.approvals.lastOpenedNumber() + 1}`
  return recordFacts([{ type: 'approval.opened', id, ...input, machine: world.machine }], { id }, whole)
}

export interface AnswerInput {
  id: string
  choice: string
  digest: string
  words?: string
  answers?: string[]
  /** Where the answering person sits. Unset if the caller is an agent. */
  surface?: 'page' | 'terminal'
  /** The reason why the caller does not count as a person who may answer approvals. */
  why?: string
  /** The rights of the caller's session. */
  standing: Reader['standing']
  /** The caller's machine and name. Unset if the caller is on this machine. */
  asker?: RemoteCaller
}

export function answer(view: View, command: Command<AnswerInput>): Verdict {
  const { input, at, world } = command
  const { id, choice, digest, words, answers, surface, standing, asker, why = 'you are an agent' } = input
  const refused = refuseForged(view, command)
  if (refused) return refused
  const by = agentGivingCommand(command)
  const row = view.approvals.byId(id)
  if (!row || !sees(view, { agent: by, standing }, 'approval', row)) return refuse('approval.unknown', { id })
  const chosen = row.choices.find((each) => each.id === choice)
  const delegation = surface || !chosen ? undefined : delegationFor(view, row, { by, at, kind: chosen.kind })
  if (!surface && !delegation) return refuse('approval.not-yours', { id, why })
  if (surface && asker?.name !== undefined && view.agent(asker.name)?.type !== 'human')
    return refuse('approval.not-yours', { id, why: `${asker.name} is an agent` })
  if (row.closed) return refuse('approval.closed', { id, how: row.closed.how, why: closedText(row, at) })
  if (digest !== row.digest) return refuse('approval.changed', { id })
  const isAnswered = chosen?.kind === 'deny' || answers?.length === row.questions?.length
  if (!chosen || !isAnswered) return refuse('approval.choice', { id, why: choicesText(row) })
  // Checks last whether another machine has to decide this approval: all refusals come from this machine, and only an answer that may be given is sent to the
  // other one.
  if (isOnOtherMachine(view, world, row)) return refuse('approval.elsewhere', { id, machine: row.machine })
  const closed: ApprovalClosed = {
    type: 'approval.closed',
    ...{ id, agent: row.agent, how: 'answered', kind: chosen.kind, choice, words, answers },
    ...(delegation ? { surface: 'delegation', delegation: delegationText(delegation) } : { surface }),
    ...(asker ? { asker: remoteCallerText(asker) } : {}),
  }
  return recordFacts([closed], { agent: row.agent, tool: row.tool, kind: chosen.kind, how: 'answered' })
}

export interface CloseInput {
  /** The approvals to close; those that are closed already are skipped. */
  ids: readonly string[]
  how: Exclude<ApprovalClosed['how'], 'answered'>
  kind?: ApprovalChoice['kind']
}

export function close(view: View, { input: { ids, how, kind } }: Command<CloseInput>): Verdict {
  const rows = ids.flatMap((id) => view.approvals.byId(id) ?? []).filter(({ closed }) => !closed)
  return recordFacts(rows.map(({ id, agent }): ApprovalClosed => ({ type: 'approval.closed', id, agent, how, kind })))
}

/** Characters that could begin or change another command in a shell. A `*` in a delegation's pattern stands for none of them. */
const shellSyntax = /[;&|<>$`()\\{}!#\r\n]/

export function isDelegationInForce({ until }: Delegation, at: number): boolean {
  // A delegation with more time left than the maximum was made before the clock was set back, and does not count.
  return until > at && until - at <= limits.delegationMsMax
}

/**
 * Finds the delegation by which an agent may answer an approval. An agent never answers for itself, only for workers that it has hired, and never with
 * `always`, since nobody would see what follows.
 */
function delegationFor(
  view: View,
  { agent, tool, input, isExact }: ApprovalRow,
  { by, at, kind }: { by: string; at: number; kind: ApprovalChoice['kind'] },
): Delegation | undefined {
  const worker = view.workers.byName(agent)
  if (agent === by || worker?.parent !== by || (kind !== 'allow' && kind !== 'deny')) return undefined
  return view.policy().approve.find((each) => {
    const isItsOwn = each.agent === by && (each.for === '*' || each.for === agent) && isDelegationInForce(each, at)
    const isTool = each.tools.includes('*') || each.tools.includes(tool)
    return isItsOwn && isTool && (each.pattern === undefined || (isExact && fits(each.pattern, input)))
  })
}

/**
 * Whether an input fits a delegation's pattern. `*` stands for any text that begins no other command in a shell: `npm test*` does not fit
 * `npm test; rm -rf .`. Each part of the pattern is matched at its first possible place: if the rest fits behind a later place, the rest fits behind the
 * first too, unless a character of `shellSyntax` stands between.
 */
function fits(pattern: string, input: string): boolean {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return pattern === input
  if (!input.startsWith(first) || input.length < first.length + last.length || !input.endsWith(last)) return false
  const end = input.length - last.length
  let at = first.length
  for (const part of parts) {
    const found = input.indexOf(part, at)
    if (found < 0 || found + part.length > end || shellSyntax.test(input.slice(at, found))) return false
    at = found + part.length
  }
  return !shellSyntax.test(input.slice(at, end))
}

/** Returns a delegation as text, such as `Lead for Fixer: Bash npm test*`. */
export function delegationText({ agent, for: whom, tools, pattern }: Delegation): string {
  const whose = whom === '*' ? 'each of its workers' : whom
  return `${agent} for ${whose}: ${tools.join(', ')}${pattern === undefined ? '' : ` ${pattern}`}`
}

function choicesText({ choices, questions }: ApprovalRow): string {
  if (questions)
    return `The agent asks a question: allowing it is not an answer. ${questions.map(questionText).join(' ')}`
  if (choices.length === 0) return 'Its choices could not be read: answer it at the terminal of the agent.'
  return `Its choices: ${choices.map(({ id, label }) => (label === undefined ? id : `${id} (${label})`)).join(', ')}`
}

/** Returns a question as text, such as `Which one? 1 (Postgres), 2 (SQLite), or words of your own.` */
function questionText({ text, options }: Question): string {
  return `${text} ${options.map(({ label }, i) => `${i + 1} (${label})`).join(', ')}, or words of your own.`
}

const choiceWords: Record<ApprovalChoice['kind'], string> = {
  allow: 'allowed',
  always: 'allowed for the session',
  deny: 'denied',
  other: 'answered',
}

/** Says how an approval was closed, such as `Already answered at the terminal (allowed, 3 s ago)`. */
export function closedText({ vendor, closed }: ApprovalRow, at: number): string {
  if (!closed) return 'It is open'
  const { how, kind, by } = closed
  const when = agoText(at, closed.at)
  const told = kind === undefined ? when : `${choiceWords[kind]}, ${when}`
  switch (how) {
    case 'answered':
      return `Already answered by ${by} (${told})`
    case 'terminal':
      return `Already answered at the terminal (${told})`
    case 'timeout':
      return `Nobody answered it in time, and ${vendor} went on without an answer (${when})`
    case 'cancelled':
      return `Nobody answered it: ${vendor} took it back (${when})`
    case 'gone':
      return `Nobody answered it: what asked is gone (${when})`
    case 'restart':
      return `Nobody answered it from here: the daemon was restarted (${when})`
  }
}
