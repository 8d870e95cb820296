// A form that starts a worker: its CLI, task and directory.

import { clisWith, defaultCli } from '@agent-relay/sdk/internal/clis'
import { splitCommandLine } from '@agent-relay/sdk/internal/page'
import { type FormEvent, useState } from 'react'
import { client } from '../store/connection.ts'
import { hintFleet } from '../store/fleet.ts'
import { go, linkTo } from '../store/page-address.ts'
import { Failure } from './bits.tsx'
import './form.css'

const clis = [...clisWith('worker').map(({ name }) => name), 'plain']

export function Spawn() {
  const [why, setWhy] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [cli, setCli] = useState<string>(defaultCli)
  const spawn = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const text = (field: string): string => String(fields.get(field) ?? '').trim()
    setWhy(undefined)
    setBusy(true)
    try {
      const command = text('command') === '' ? undefined : splitCommandLine(text('command'))
      const optional = Object.fromEntries(['task', 'model', 'cwd'].map((key) => [key, text(key) || undefined]))
      await client.call('worker.spawn', { name: text('name'), cli, command, ...optional })
      hintFleet()
      go('agent', [text('name'), 'terminal'])
    } catch (error) {
      setWhy((error as Error).message)
    }
    setBusy(false)
  }
  return (
    <form className="form" onSubmit={(event) => void spawn(event)}>
      <h2 className="title">Spawn a worker</h2>
      <p className="muted">A program in a terminal of its own. It reports to you, and ends when you release it.</p>
      <Fields cli={cli} onCli={setCli} />
      <Failure text={why} />
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
          {clis.map((each) => (
            <option key={each}>{each}</option>
          ))}
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
      <label>
        Model <span className="muted">if not its own</span>
        <input name="model" autoComplete="off" />
      </label>
      <label>
        Directory <span className="muted">if not the project's</span>
        <input name="cwd" autoComplete="off" placeholder="/home/you/project" />
      </label>
    </>
  )
}
