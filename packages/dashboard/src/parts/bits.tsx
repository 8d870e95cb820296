// Small components that all views use: an agent's state, tags, initials, counts, placeholders for empty lists, failures, long text.

import { clean } from '@agent-relay/sdk/internal/page'
import { type ComponentProps, type ReactNode, useMemo, useState } from 'react'
import { initialsOf } from '../store/avatar-letters.ts'
import { useCell } from '../store/cell.ts'
import { commandForThisWorkspace, withCommandsAsTyped } from '../store/connection.ts'
import { avatarLetters, type StateText } from '../store/fleet.ts'
import { Icon, type IconName } from './icons.tsx'
import { ElapsedTime } from './time.tsx'
import './bits.css'

export function StateBadge({ state, since }: { state: StateText; since?: string }) {
  return (
    <span className={`state ${state.tone}`}>
      <i className="dot" aria-hidden="true" />
      <span className="clip" title={state.text}>
        {state.text}
        {since && (
          <>
            , <ElapsedTime ts={since} />
          </>
        )}
      </span>
    </span>
  )
}

/** The avatar of an agent. `letters`: the agent's letters, which no other agent of the same list has; by default its letters among this workspace's agents. */
export function Avatar({ name, letters }: { name: string; letters?: string }) {
  const own = useCell(avatarLetters).get(name)
  return (
    <span className="face" aria-hidden="true">
      {letters ?? own ?? initialsOf(name)}
    </span>
  )
}

export function MessageKindTag({ kind }: { kind: string }) {
  return kind === 'free' ? null : <span className={`tag kind-${kind}`}>{kind}</span>
}

/** A number badge. `isQuiet` marks counts of other agents, so that the person's own counts stand out. */
export function CountBadge({ value, label, isQuiet = false }: { value: number; label: string; isQuiet?: boolean }) {
  if (value === 0) return null
  return (
    <span className={`count ${isQuiet ? 'is-quiet' : ''}`} role="img" aria-label={`${value} ${label}`}>
      {value > 999 ? '999+' : value}
    </span>
  )
}

/** A button that belongs to no form; by default one with a thin frame. */
export const Button = ({ className = 'quiet', ...rest }: ComponentProps<'button'>) => (
  <button type="button" className={className} {...rest} />
)

/** The placeholder of an empty list: what the list usually shows, and commands to try next, ready to be copied. */
export function EmptyList(props: { title: string; children?: ReactNode; command?: string; other?: string }) {
  const { title, children, command, other } = props
  const lines = [command, other].flatMap((line) => (line ? [commandForThisWorkspace(line)] : []))
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <p className="muted">{children}</p>}
      {lines.map((line) => (
        <div key={line} className="bar command-line">
          <code className="command">{line}</code>
          <CopyButton text={line} label="Copy" />
        </div>
      ))}
    </div>
  )
}

export function FailureText({ text }: { text: string | undefined }) {
  return text ? (
    <p className="failure" role="alert">
      {withCommandsAsTyped(text)}
    </p>
  ) : null
}

export function IconButton(props: {
  icon: IconName
  label: string
  onClick(): void
  isPressed?: boolean
  isDisabled?: boolean
}) {
  const { icon, label, onClick, isPressed, isDisabled } = props
  return (
    <Button
      className="icon-button"
      aria-label={label}
      title={label}
      aria-pressed={isPressed}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </Button>
  )
}

const foldedLinesMax = 18
const charsMax = 2_400

/** Plain text, never parsed as markup; a long text is folded. */
export function LongText({ text: given, className = '' }: { text: string; className?: string }) {
  const text = useMemo(() => clean(given), [given])
  const [isOpen, setOpen] = useState(false)
  const isLong = text.length > charsMax || text.split('\n', foldedLinesMax + 1).length > foldedLinesMax
  const shown = isLong && !isOpen ? text.split('\n').slice(0, foldedLinesMax).join('\n').slice(0, charsMax) : text
  return (
    <>
      <div className={`text ${className}`} dir="auto">
        {shown}
        {isLong && !isOpen && ' …'}
      </div>
      {isLong && (
        <Button className="link" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${text.length.toLocaleString()} characters`}
        </Button>
      )}
    </>
  )
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isDone, setDone] = useState(false)
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true)
      setTimeout(() => setDone(false), 1_500)
    })
  }
  return (
    <Button onClick={copy}>
      <Icon name="copy" />
      {isDone ? 'Copied' : label}
    </Button>
  )
}
