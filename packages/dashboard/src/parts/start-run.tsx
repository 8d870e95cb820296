// A form that gives an agent a contract.

import { type FormEvent, useState } from 'react'
import { go, linkTo } from '../route.ts'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { fleet } from '../store/fleet.ts'
import { Failure } from './bits.tsx'

const harnesses = ['loop', 'claude', 'codex', 'opencode', 'gemini', 'external'] as const
type Harness = (typeof harnesses)[number]

export function StartRun() {
  const [harness, setHarness] = useState<Harness>('loop')
  const [why, setWhy] = useState<string>()
  const start = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const text = (field: string): string | undefined => String(fields.get(field) ?? '').trim() || undefined
    setWhy(undefined)
    try {
      const run = await client.call('run.start', {
        contract: String(fields.get('contract')),
        harness,
        model: text('model'),
        cwd: text('cwd'),
        agent: text('agent'),
      })
      go('runs', [run.id])
    } catch (error) {
      setWhy((error as Error).message)
    }
  }
  return (
    <form className="form" onSubmit={(event) => void start(event)}>
      <h2 className="title">Start a run</h2>
      <p className="muted">A contract for one agent. It ends with a summary, and perhaps a payload.</p>
      <Fields harness={harness} onHarness={setHarness} />
      <Failure text={why} />
      <div className="form-end">
        <button type="submit" className="main-button">
          Start
        </button>
        <a className="quiet" href={linkTo('runs')}>
          Cancel
        </a>
      </div>
    </form>
  )
}

function Fields({ harness, onHarness }: { harness: Harness; onHarness(harness: Harness): void }) {
  const { agents } = useCell(fleet)
  const { agent: me } = useCell(connection)
  return (
    <>
      <label>
        Contract
        <textarea name="contract" required rows={6} placeholder="Count the open TODOs, and hand over the list." />
      </label>
      <label>
        Carried out by
        <select value={harness} onChange={(event) => onHarness(event.target.value as Harness)}>
          {harnesses.map((each) => (
            <option key={each} value={each}>
              {each === 'loop'
                ? 'the built-in loop'
                : each === 'external'
                  ? 'an agent that is there'
                  : `a ${each} worker`}
            </option>
          ))}
        </select>
      </label>
      {harness === 'external' ? (
        <label>
          Agent
          <select name="agent" required>
            {agents
              .filter(({ name }) => name !== me)
              .map(({ name, status }) => (
                <option key={name} value={name}>
                  {status === 'offline' ? `${name} (away)` : name}
                </option>
              ))}
          </select>
        </label>
      ) : (
        <>
          <label>
            Model <span className="muted">if not the configured one</span>
            <input name="model" autoComplete="off" />
          </label>
          <label>
            Directory <span className="muted">if not the daemon's</span>
            <input name="cwd" autoComplete="off" />
          </label>
        </>
      )}
    </>
  )
}
