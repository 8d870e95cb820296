// A form that starts a worker: its CLI, task and directory.

import { splitCommandLine } from '@agent-relay/sdk/internal/page'
import { type FormEvent, useEffect, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { client, connection, reloadLoginData } from '../store/connection.ts'
import { refreshFleet } from '../store/fleet.ts'
import { linkTo, openUnlessLeft } from '../store/page-address.ts'
import { useAsyncAction } from './async-action.ts'
import { FailureText } from './bits.tsx'
import { CliOptions, DirectoryField, textFieldValue, WorktreeField, worktreeFieldValue } from './work-fields.tsx'
import './form.css'

export function SpawnForm() {
  const { clis } = useCell(connection)
  const { why, isBusy, attempt } = useAsyncAction()
  const [chosen, setChosen] = useState<string>()
  const cli = chosen ?? clis[0] ?? 'plain'
  useEffect(() => void reloadLoginData(), [])
  const spawn = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const line = textFieldValue(fields, 'command')
    const name = textFieldValue(fields, 'name') ?? ''
    const leave = openUnlessLeft()
    void attempt(async () => {
      await client.call('worker.spawn', {
        name,
        cli,
        command: line === undefined ? undefined : splitCommandLine(line),
        task: textFieldValue(fields, 'task'),
        model: textFieldValue(fields, 'model'),
        cwd: textFieldValue(fields, 'cwd'),
        worktree: worktreeFieldValue(fields),
      })
      refreshFleet()
      leave(linkTo('agent', [name, 'terminal']))
    })
  }
  return (
    <form className="form" onSubmit={spawn}>
      <h2 className="title">Spawn a worker</h2>
      <p className="muted">A program in a terminal of its own. It reports to you, and ends when you release it.</p>
      <Fields cli={cli} onCli={setChosen} />
      <FailureText text={why} />
      <div className="form-end">
        <button type="submit" className="main-button" disabled={isBusy}>
          {isBusy ? 'Starting …' : 'Spawn'}
        </button>
        <a className="quiet" href={linkTo('agent')}>
          Cancel
        </a>
      </div>
    </form>
  )
}

function Fields({ cli, onCli }: { cli: string; onCli(cli: string): void }) {
  return (
    <>
      <label>
        Name
        <input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}" autoComplete="off" placeholder="Fixer" />
      </label>
      <label>
        CLI
        <select value={cli} onChange={(event) => onCli(event.target.value)}>
          <CliOptions column="worker" />
          <option value="plain">Another program</option>
        </select>
      </label>
      {cli === 'plain' && (
        <label>
          Command
          <input name="command" required autoComplete="off" placeholder="node agent.js --watch" />
        </label>
      )}
      <label>
        Task
        <textarea name="task" rows={4} placeholder="Fix the failing test in parser.test.ts" />
      </label>
      <DirectoryField isNeeded />
      <WorktreeField />
      <label>
        Model <span className="muted">if not its own</span>
        <input name="model" autoComplete="off" />
      </label>
    </>
  )
}
