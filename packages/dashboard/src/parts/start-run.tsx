// A form that starts a run: it gives an agent a contract, which is a text that says what to do.

import { runHarnesses } from '@agent-relay/sdk/internal/clis'
import { type FormEvent, useEffect, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { client, connection, reloadLoginData } from '../store/connection.ts'
import { compareAgents, fleet } from '../store/fleet.ts'
import { linkTo, openUnlessLeft, usePageAddress } from '../store/page-address.ts'
import { runs } from '../store/runs.ts'
import { useAsyncAction, useAsyncResult } from './async-action.ts'
import { FailureText } from './bits.tsx'
import { CliOptions, DirectoryField, textFieldValue, WorktreeField, worktreeFieldValue } from './work-fields.tsx'
import './form.css'

type HarnessName = (typeof runHarnesses)[number]

/** The form's first values: those of the earlier run that is started again, or the chosen agent. */
interface Begun {
  /** Which program carries out the run. Unset: the daemon chooses. */
  harness?: HarnessName
  contract?: string
  model?: string
  agent?: string
}

/** Returns the values with which the form starts; undefined while the contract of the run to repeat is fetched. */
function useBegun(): Begun | undefined {
  const { query } = usePageAddress()
  const [again, agent] = [query.get('again'), query.get('agent') ?? undefined]
  const run = useCell(runs)?.find(({ id }) => id === again)
  const asked = useAsyncResult(
    async () => (again === null ? undefined : client.call('run.contract', { run: again })),
    [again],
  )
  const contract = asked.why === undefined ? asked.answer?.contract : ''
  if (again === null) return { harness: agent === undefined ? undefined : 'external', agent }
  if (contract === undefined || !run) return undefined
  const harness = runHarnesses.find((each) => each === run.harness)
  return { harness, contract, model: run.model, agent: run.agent }
}

export function StartRunForm() {
  const begun = useBegun()
  return begun ? <Form begun={begun} /> : null
}

function Form({ begun }: { begun: Begun }) {
  const [harness, setHarness] = useState<HarnessName | undefined>(begun.harness)
  const { why, attempt } = useAsyncAction()
  useEffect(() => void reloadLoginData(), [])
  const start = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const leave = openUnlessLeft()
    void attempt(async () => {
      const run = await client.call('run.start', {
        contract: String(fields.get('contract')),
        harness,
        model: textFieldValue(fields, 'model'),
        cwd: textFieldValue(fields, 'cwd'),
        worktree: worktreeFieldValue(fields),
        agent: textFieldValue(fields, 'agent'),
      })
      leave(linkTo('runs', [run.id]))
    })
  }
  return (
    <form className="form" onSubmit={start}>
      <h2 className="title">Start a run</h2>
      <p className="muted">A contract for one agent. It ends with a summary, and perhaps a payload.</p>
      <Fields begun={begun} harness={harness} onHarness={setHarness} />
      <FailureText text={why} />
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

interface FieldsProps {
  begun: Begun
  harness: HarnessName | undefined
  onHarness(harness: HarnessName | undefined): void
}

function Fields({ begun, harness, onHarness }: FieldsProps) {
  const { agents } = useCell(fleet)
  const { agent: me } = useCell(connection)
  return (
    <>
      <label>
        Contract
        <textarea
          name="contract"
          required
          rows={6}
          defaultValue={begun.contract}
          placeholder="Count the open TODOs, and hand over the list."
        />
      </label>
      <label>
        Carried out by
        <select
          value={harness ?? ''}
          onChange={({ target }) => onHarness(runHarnesses.find((each) => each === target.value))}
        >
          <option value="">whatever is set up here</option>
          <option value="external">an agent that is there</option>
          <option value="loop">the built-in loop</option>
          <CliOptions column="run" />
        </select>
      </label>
      {harness === 'external' ? (
        <label>
          Agent
          <select name="agent" required defaultValue={begun.agent}>
            {agents
              .filter(({ name }) => name !== me)
              .toSorted(compareAgents)
              .map(({ name, status }) => (
                <option key={name} value={name}>
                  {name}
                  {status === 'offline' ? ' (away)' : status === 'unreachable' ? ' (out of reach)' : ''}
                </option>
              ))}
          </select>
        </label>
      ) : (
        <>
          <label>
            Model <span className="muted">if not the configured one</span>
            <input name="model" autoComplete="off" defaultValue={begun.model} />
          </label>
          <DirectoryField />
          {harness !== 'loop' && <WorktreeField />}
        </>
      )}
    </>
  )
}
