// An approval (an agent's question that only a person may answer) and its buttons. A choice that allows something is sent after a short delay, in which the
// person can take it back; a denial may carry words for the model.

import { permissionPhrase } from '@agent-relay/sdk/internal/page'
import { type FormEvent, useEffect, useState } from 'react'
import {
  type Approval,
  type ApprovalChoice,
  answerApproval,
  type ClosedApproval,
  closedApprovals,
  wholeApproval,
} from '../store/approvals.ts'
import { useCell } from '../store/cell.ts'
import { armedApproval } from '../store/keys.ts'
import { useWorkplace } from '../store/shown-workplace.ts'
import { Button, FailureText } from './bits.tsx'
import { diffLines } from './code.tsx'
import { QuestionForm } from './question-form.tsx'
import './needs.css'
import './screen.css'

/** How long a chosen answer waits before it is sent, so that the person can notice a wrong click and take it back. */
const heldMs = 1_500

const names: Record<ApprovalChoice['kind'], string> = {
  allow: 'Allow once',
  always: 'Always allow',
  deny: 'Deny',
  other: 'Choose',
}

const nameOf = ({ kind, label }: ApprovalChoice): string => label ?? names[kind]

const kindsDone: Readonly<Record<string, string>> = {
  allow: 'Allowed once',
  always: 'Allowed from now on',
  deny: 'Denied',
}
const howsDone: Readonly<Record<string, string>> = {
  terminal: 'Answered at its terminal.',
  timeout: 'Given up: nobody answered in time.',
  cancelled: 'Given up by the agent.',
  gone: 'Over: the agent has gone.',
  restart: 'Over: the daemon was started again.',
}

/** The outcome of a finished approval, for a row that stays in the list while the pointer is over the list. */
export function EndedApproval({ approval: { id } }: { approval: Approval }) {
  const closing = useCell(closedApprovals).get(id)
  const { me } = useWorkplace()
  return <>{closing ? endedText(closing, me) : 'Closed.'}</>
}

function endedText(closing: ClosedApproval, me: string): string {
  const { how, kind = '', by } = closing
  if (how !== 'answered') return howsDone[how] ?? 'Closed.'
  return `${kindsDone[kind] ?? 'Answered'}${by === me ? '' : ` by ${by}`}.`
}

const diff = /^(?:diff --git |--- |@@ )/m

const hiddenText = ({ chars, lines = 0 }: NonNullable<Approval['hidden']>): string => {
  if (chars === 0) return 'It holds characters that cannot be shown.'
  const [count, name] = lines > 0 ? [lines, 'line'] : [chars, 'character']
  return count === 1 ? `1 more ${name} is not shown.` : `${count.toLocaleString('en')} more ${name}s are not shown.`
}

/** The text of an approval's request. The agent and the tool are shown by the row around this component; a long text is fetched on demand. */
export function ApprovalText({ approval }: { approval: Approval }) {
  const workplace = useWorkplace()
  const [whole, setWhole] = useState<Approval>()
  const [why, setWhy] = useState<string>()
  const { input, hidden, directory, machine } = whole ?? approval
  const { rest } = permissionPhrase({ tool: approval.tool, input })
  const fetchWhole = (): void =>
    void wholeApproval(workplace, approval).then(setWhole, (error: Error) => setWhy(error.message))
  return (
    <>
      {/* An approval with questions shows them below, with their options. */}
      {approval.questions === undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
        <pre className="screen" tabIndex={0}>
          {diff.test(rest) ? diffLines(rest) : rest.trim()}
        </pre>
      )}
      {hidden !== undefined && (
        <p className="need-hidden small">
          {hiddenText(hidden)} {whole === undefined && <Button onClick={fetchWhole}>Show all</Button>}
        </p>
      )}
      <FailureText text={why} />
      {directory !== undefined && <p className="muted small clip">in {directory}</p>}
      {machine !== undefined && <p className="muted small">on {machine}</p>}
    </>
  )
}

export function ApprovalTools({ approval }: { approval: Approval }) {
  const workplace = useWorkplace()
  const [held, setHeld] = useState<ApprovalChoice>()
  const [denied, setDenied] = useState<ApprovalChoice>()
  const [why, setWhy] = useState<string>()
  const answer = (choice: ApprovalChoice | undefined, words?: string, answers?: string[]): void => {
    setWhy(undefined)
    answerApproval(workplace, approval, choice?.id ?? '', { words, answers }).catch((error) => {
      setHeld(undefined)
      setWhy(error.message)
    })
  }
  // If the row disappears during the delay, the chosen answer is cancelled, and the person decides again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the timer starts once for each chosen answer
  useEffect(() => {
    if (!held) return
    const timer = setTimeout(() => answer(held), heldMs)
    return () => clearTimeout(timer)
  }, [held])
  const { choices, questions } = approval
  const press = (choice: ApprovalChoice): void => (choice.kind === 'deny' ? setDenied(choice) : setHeld(choice))
  if (held)
    return (
      <>
        <span className="need-held">{nameOf(held)} …</span>
        <Button onClick={() => setHeld(undefined)}>Take it back</Button>
      </>
    )
  if (denied) return <Deny choice={denied} why={why} onSend={answer} onClose={() => setDenied(undefined)} />
  const refuse = (): void => setDenied(choices.find(({ kind }) => kind === 'deny'))
  const send = (answers: string[]): void => answer(choices.find(isOther), undefined, answers)
  if (questions) return <QuestionForm questions={questions} why={why} onSend={send} onRefuse={refuse} />
  return (
    <>
      <Buttons approval={approval} onPress={press} />
      <FailureText text={why} />
    </>
  )
}

const isOther = ({ kind }: ApprovalChoice): boolean => kind === 'other'

function Buttons({ approval, onPress }: { approval: Approval; onPress(choice: ApprovalChoice): void }) {
  const isArmed = useCell(armedApproval) === approval.id
  return (
    <>
      {approval.choices.map((choice) => (
        <Button
          key={choice.id}
          className={choice.kind === 'allow' ? 'main-button' : 'quiet'}
          data-key={keyFor(choice, approval)}
          data-approval={approval.id}
          onClick={() => onPress(choice)}
        >
          {nameOf(choice)}
        </Button>
      ))}
      {isArmed && (
        <span role="status" className="need-held">
          Press <kbd>a</kbd> once more to allow it.
        </span>
      )}
    </>
  )
}

/** Returns the keyboard shortcut of a choice. Only the first choice of a kind has a shortcut, and "allow" only if the request is shown in full. */
function keyFor(choice: ApprovalChoice, { choices, hidden }: Approval): string | undefined {
  const { kind } = choice
  if (kind === 'allow' && hidden) return undefined
  return (kind === 'allow' || kind === 'deny') && choices.find((each) => each.kind === kind) === choice
    ? kind
    : undefined
}

interface DenyProps {
  choice: ApprovalChoice
  why: string | undefined
  onSend(choice: ApprovalChoice, words: string): void
  onClose(): void
}

function Deny({ choice, why, onSend, onClose }: DenyProps) {
  const [words, setWords] = useState('')
  const send = (event: FormEvent): void => {
    event.preventDefault()
    onSend(choice, words)
  }
  return (
    <form className="need-deny" onSubmit={send}>
      <input
        // biome-ignore lint/a11y/noAutofocus: the field opens because the person asked for it
        autoFocus
        aria-label="Why not"
        placeholder="Why not, or what to do instead (may be left empty)"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && onClose()}
      />
      <button type="submit" className="main-button danger">
        {nameOf(choice)}
      </button>
      <Button onClick={onClose}>Cancel</Button>
      <FailureText text={why} />
    </form>
  )
}
