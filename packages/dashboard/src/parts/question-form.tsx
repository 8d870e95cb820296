// An agent's questions with options: the person chooses one option, or several if the question allows it, or writes an answer.

import { type FormEvent, useState } from 'react'
import type { Question } from '../store/approvals.ts'
import { Button, FailureText } from './bits.tsx'

interface ChoiceProps {
  questions: readonly Question[]
  why: string | undefined
  onSend(answers: string[]): void
  onRefuse(): void
}

export function QuestionForm({ questions, why, onSend, onRefuse }: ChoiceProps) {
  const [given, setGiven] = useState<readonly Given[]>(() => questions.map(() => ({ labels: [], own: '' })))
  const change = (at: number, next: Given): void => setGiven(given.map((each, i) => (i === at ? next : each)))
  const answers = given.map(({ labels, own }) => own.trim() || labels.join(', '))
  const send = (event: FormEvent): void => {
    event.preventDefault()
    onSend(answers)
  }
  return (
    <form className="need-choice" onSubmit={send}>
      {questions.map((question, at) => (
        <Options
          key={question.text}
          question={question}
          given={given[at] as Given}
          onChange={(next) => change(at, next)}
        />
      ))}
      <button type="submit" className="main-button" disabled={answers.includes('')}>
        Answer
      </button>
      <Button data-key="deny" onClick={onRefuse}>
        Refuse to answer
      </Button>
      <FailureText text={why} />
    </form>
  )
}

interface Given {
  labels: readonly string[]
  own: string
}

function Options({ question, given, onChange }: { question: Question; given: Given; onChange(next: Given): void }) {
  const { text, options, isMany = false } = question
  const { labels, own } = given
  const take = (label: string): void => {
    const others = isMany ? labels.filter((each) => each !== label) : []
    onChange({ labels: labels.includes(label) ? others : [...others, label], own: '' })
  }
  return (
    <fieldset>
      <legend>{text}</legend>
      {options.map(({ label, text: more }) => (
        <Button key={label} aria-pressed={labels.includes(label) && own === ''} onClick={() => take(label)}>
          {label}
          {more && <span className="muted small"> {more}</span>}
        </Button>
      ))}
      <input
        aria-label={`An answer of your own: ${text}`}
        placeholder="or an answer of your own"
        value={own}
        onChange={(event) => onChange({ labels: [], own: event.target.value })}
      />
    </fieldset>
  )
}
