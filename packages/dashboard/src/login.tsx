// The login form, for a browser without a valid session: shows why, and the command that prints a login link.

import { type FormEvent, useState } from 'react'
import { FailureText } from './parts/bits.tsx'
import { useCell } from './store/cell.ts'
import { connection, logInWithCode } from './store/connection.ts'
import './login.css'

export function Login() {
  const { why, linkCommand } = useCell(connection)
  const [code, setCode] = useState('')
  const [refused, setRefused] = useState<string>()
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const answer = await logInWithCode(code.trim())
    if (answer === undefined) location.reload()
    else setRefused(answer)
  }
  return (
    <main className="login">
      <h1>Agent Relay</h1>
      <p>This page opens with a code that works once and for five minutes. It is in the link that this prints:</p>
      <code className="command">{linkCommand}</code>
      <form onSubmit={send}>
        <label>
          Code
          <input
            value={code}
            onChange={(event) => setCode(event.target.value)}
            placeholder="7F3K-9Q2M"
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <button type="submit" className="main-button" disabled={code.trim() === ''}>
          Come in
        </button>
      </form>
      <FailureText text={refused ?? why} />
    </main>
  )
}
