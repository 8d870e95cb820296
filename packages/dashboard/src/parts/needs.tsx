// The list "Needs you": one row for each thing that waits for the person, with its subject and its buttons.

import { cleanLine, permissionPhrase } from '@agent-relay/sdk/internal/page'
import { type FormEvent, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { conversationOf, conversationTitle, isDirect } from '../store/conversations.ts'
import { messageDraft } from '../store/drafts.ts'
import { needs, type ShownNeed, snoozedCount } from '../store/needs.ts'
import { linkTo } from '../store/page-address.ts'
import { useWorkplace } from '../store/shown-workplace.ts'
import { snoozeMs, snoozeUntil } from '../store/snoozes.ts'
import { repeatFailedWork } from '../store/worker-commands.ts'
import { ApprovalText, ApprovalTools, EndedApproval } from './approval.tsx'
import { useAsyncAction } from './async-action.ts'
import { Button, FailureText } from './bits.tsx'
import { Icon } from './icons.tsx'
import { Markdown } from './markdown.tsx'
import { WorkerScreen } from './screen.tsx'
import { TimeAgo } from './time.tsx'
import './needs.css'

export function Needs() {
  const list = useCell(needs)
  const later = useCell(snoozedCount)
  return (
    <section aria-labelledby="needs">
      <div className="bar section-head">
        <h2 id="needs">Needs you</h2>
        {later > 0 && <span className="muted small num">{later} snoozed</span>}
        <NotifyMe />
      </div>
      <NeedRows list={list} empty="Nothing. Nobody is blocked, and nobody waits for your answer." />
    </section>
  )
}

/** The rows of needs, or the text for an empty list. No row moves while the pointer is over them. */
export function NeedRows({ list, empty }: { list: readonly ShownNeed[]; empty: string }) {
  const [isHeld, setHeld] = useState(false)
  const rows = useRef<HTMLUListElement>(null)
  // `pointerleave` is not enough: when a button is removed from under the pointer, the event never comes.
  useEffect(() => {
    if (!isHeld) return
    const look = ({ target }: PointerEvent): void => setHeld(rows.current?.contains(target as Node) ?? false)
    document.addEventListener('pointermove', look)
    return () => document.removeEventListener('pointermove', look)
  }, [isHeld])
  const shown = useHeld(list, isHeld)
  if (shown.length === 0) return <p className="calm-note muted">{empty}</p>
  return (
    <ul ref={rows} className="needs" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
      {shown.map(({ need, isOver }) => (
        <Row key={need.key} need={need} isOver={isOver} />
      ))}
    </ul>
  )
}

function NotifyMe() {
  const [isAsked, setAsked] = useState('Notification' in window && Notification.permission !== 'default')
  if (isAsked) return null
  const ask = (): void => void Notification.requestPermission().then(() => setAsked(true))
  return (
    <Button onClick={ask}>
      <Icon name="bell" />
      Notify me
    </Button>
  )
}

interface Held {
  need: ShownNeed
  /** Whether the need was answered or has ended by itself. */
  isOver: boolean
}

/** Freezes the list while the pointer is over it, so that no row moves: finished rows stay, and new rows come at the end. */
function useHeld(list: readonly ShownNeed[], isHeld: boolean): readonly Held[] {
  const before = useRef<readonly Held[]>([])
  const now = new Map(list.map((need) => [need.key, need]))
  const kept = isHeld
    ? before.current.map(({ need }) => ({ need: now.get(need.key) ?? need, isOver: !now.has(need.key) }))
    : []
  const known = new Set(kept.map(({ need }) => need.key))
  const shown = [...kept, ...list.filter(({ key }) => !known.has(key)).map((need) => ({ need, isOver: false }))]
  useEffect(() => {
    before.current = shown
  })
  return shown
}

/** The verb after an agent's name, by the kind of need; an approval has its own text. */
const saying: Record<ShownNeed['kind'], string> = {
  approval: 'waits for your answer',
  blocked: 'is blocked',
  question: 'asks',
  failed: 'has failed',
  mention: 'writes to you',
}

/** What a finished row of the list "Needs you" says, by the kind of need. */
const overTexts: Record<ShownNeed['kind'], string> = {
  approval: 'Closed.',
  blocked: 'It goes on.',
  question: 'Answered.',
  failed: 'Dismissed, or at work again.',
  mention: 'Answered.',
}

function Row({ need, isOver }: Held) {
  const { kind, who, since, message, approval, count = 1 } = need
  const { me, path } = useWorkplace()
  const [isWriting, setWriting] = useState(() => message !== undefined && replyDraft(path, need).value !== '')
  const box = useRef<HTMLLIElement>(null)
  // A row whose need is over keeps its height, so that the rows below it do not move.
  const height = useRef(0)
  useLayoutEffect(() => {
    if (!isOver) height.current = box.current?.getBoundingClientRect().height ?? 0
  })
  const place = message && conversationOf(message)
  const isWorker = message === undefined
  return (
    <li
      ref={box}
      data-item
      tabIndex={-1}
      className={`panel stack need need-${kind} ${isOver ? 'is-over' : ''}`}
      style={isOver ? { minHeight: height.current } : undefined}
    >
      <div className="bar need-head">
        <Icon name={isWorker ? 'alert' : 'talk'} />
        <a className="need-title clip" href={`${path}${linkTo('agent', [who])}`}>
          {who}
        </a>
        <span className="muted need-what clip">
          {approval ? permissionPhrase(approval).wants : saying[kind]}
          {place !== undefined && !isDirect(place) && ` in ${conversationTitle(place, me)}`}
          {count > 1 && ` (${count})`}
          {since && (
            <>
              {' · '}
              <TimeAgo ts={since} />
            </>
          )}
        </span>
      </div>
      <div className="need-text">
        {message ? (
          <Markdown text={message.body} />
        ) : approval ? (
          <ApprovalText approval={approval} />
        ) : (
          <Stuck need={need} />
        )}
      </div>
      {isOver ? (
        <p className="need-over muted small">{approval ? <EndedApproval approval={approval} /> : overTexts[kind]}</p>
      ) : isWriting && message ? (
        <Reply need={need} onClose={() => setWriting(false)} />
      ) : (
        <Tools need={need} onReply={() => setWriting(true)} />
      )}
    </li>
  )
}

const Stuck = ({ need: { key, who, text, task, worker, noContinue } }: { need: ShownNeed }) => (
  <>
    {task !== undefined && <p>{cleanLine(task)}</p>}
    <p className={task === undefined ? '' : 'muted'}>{text}</p>
    {noContinue !== undefined && <p className="muted small">Its conversation is lost: {noContinue}.</p>}
    {worker !== undefined && <WorkerScreen key={key} name={who} />}
  </>
)

function Tools({ need, onReply }: { need: ShownNeed; onReply(): void }) {
  const { kind, key, message, approval } = need
  const { client, name, path, hint } = useWorkplace()
  const snooze = (): void => {
    snoozeUntil(name, key, Date.now() + snoozeMs)
    hint()
  }
  // Dismisses the need up to the message that the row shows. For messages that came later, the need stays.
  const dismiss = (): void => {
    const dismissed = client.call('need.dismiss', { key, through: message?.seq })
    void dismissed.catch(() => {}).finally(hint)
  }
  return (
    <div className="bar need-tools">
      {approval && <ApprovalTools approval={approval} />}
      {need.canRetry && <Again need={need} />}
      {message && (
        <Button data-key="reply" onClick={onReply}>
          <Icon name="reply" />
          Reply
        </Button>
      )}
      <a className="quiet" data-key="open" href={`${path}${addressOf(need)}`}>
        {linkText(need)}
      </a>
      <Button onClick={snooze}>Snooze 1 h</Button>
      {kind !== 'blocked' && kind !== 'approval' && <Button onClick={dismiss}>Dismiss</Button>}
    </div>
  )
}

/** The buttons that give the work of a failed worker or run again. */
function Again({ need }: { need: ShownNeed }) {
  const place = useWorkplace()
  const { why, isBusy, attempt } = useAsyncAction()
  const press = (goesOn: boolean): Promise<void> => attempt(() => repeatFailedWork(need, goesOn, place))
  return (
    <>
      {need.canContinue && (
        <Button
          className="main-button"
          disabled={isBusy}
          title="The same task, in the conversation that it had"
          onClick={() => void press(true)}
        >
          Continue
        </Button>
      )}
      <Button
        className={need.canContinue ? 'quiet' : 'main-button'}
        disabled={isBusy}
        title="The same task, from the beginning"
        onClick={() => void press(false)}
      >
        Retry
      </Button>
      <FailureText text={why} />
    </>
  )
}

function linkText(need: ShownNeed): string {
  if (need.message) return 'Open'
  if (isOfRunAlone(need)) return 'Open the run'
  return isAtTerminal(need) ? 'Answer in its terminal' : 'Open the terminal'
}

/** Whether the need is a failed run that no worker carried out. */
const isOfRunAlone = ({ run, worker }: ShownNeed): boolean => run !== undefined && worker === undefined

/** Whether a need can be answered only in the agent's terminal; the row's link then opens the terminal with typing switched on. */
const isAtTerminal = ({ kind, approval }: ShownNeed): boolean => kind === 'blocked' || approval?.choices.length === 0

function addressOf(need: ShownNeed): string {
  const { who, message } = need
  if (message) return linkTo('talk', [conversationOf(message), message.id])
  if (isOfRunAlone(need)) return linkTo('runs', [need.run as string])
  return linkTo('agent', [who, 'terminal'], isAtTerminal(need) ? { type: '1' } : {})
}

const replyDraft = (path: string, { key }: ShownNeed) => messageDraft(`reply ${path}${key}`)

/** The reply field of a row: Enter sends, Shift+Enter starts a new line, Escape closes the field and keeps the text. */
function Reply({ need, onClose }: { need: ShownNeed; onClose(): void }) {
  const { key, who, message } = need
  const { client, path, hint } = useWorkplace()
  const draft = replyDraft(path, need)
  const text = useCell(draft)
  const { why, isBusy, attempt } = useAsyncAction()
  const send = (event?: FormEvent): void => {
    event?.preventDefault()
    if (!message || isBusy || draft.value.trim() === '') return
    void attempt(async () => {
      await client.call('message.send', { body: draft.value, replyTo: message.id })
      draft.set('')
      void client.call('inbox.read', { messages: [message.id] }).catch(() => {})
      hint()
    })
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation()
      const row = (event.target as HTMLElement).closest<HTMLElement>('[data-item]')
      onClose()
      row?.focus()
    }
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const field = useRef<HTMLTextAreaElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field takes the focus once for each need
  useEffect(() => field.current?.focus({ preventScroll: true }), [key])
  return (
    <form className="bar need-reply" onSubmit={send}>
      <textarea
        ref={field}
        aria-label={`Reply to ${who}`}
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        value={text}
        onChange={(event) => draft.set(event.target.value)}
        onKeyDown={press}
      />
      <button type="submit" className="main-button" disabled={isBusy || text.trim() === ''}>
        Send
      </button>
      <FailureText text={why} />
    </form>
  )
}
