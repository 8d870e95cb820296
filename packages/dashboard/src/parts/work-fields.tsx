// The fields that the forms for workers and runs share: the directory to work in, and whether the work gets a git worktree of its own.

import { clis, clisWith } from '@agent-relay/sdk/internal/clis'
import { useId } from 'react'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { fleet } from '../store/fleet.ts'

/**
 * A field for a directory, which offers the directories where workers of this workspace have worked. `isNeeded`: the field may be empty only if the
 * workspace has a project directory.
 */
export function DirectoryField({ isNeeded = false }: { isNeeded?: boolean }) {
  const id = useId()
  const { directory } = useCell(connection)
  const { workers } = useCell(fleet)
  const used = [...workers.values()].filter(({ worktree }) => !worktree).map(({ cwd }) => cwd)
  return (
    <label>
      Directory {directory !== undefined && <span className="muted">if not the project's</span>}
      <input
        name="cwd"
        list={id}
        autoComplete="off"
        required={isNeeded && directory === undefined}
        placeholder={directory ?? '/home/you/project'}
      />
      <datalist id={id}>
        {[...new Set([...(directory === undefined ? [] : [directory]), ...used])].map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  )
}

export function WorktreeField() {
  return (
    <label>
      Git worktree
      <select name="worktree">
        <option value="">as this workspace does it</option>
        <option value="own">its own, on a branch of its own</option>
        <option value="none">none: it works in place</option>
      </select>
    </label>
  )
}

/** Returns the answer of the worktree field; undefined if the workspace's policy decides. */
export function worktreeFieldValue(fields: FormData): boolean | undefined {
  const answer = fields.get('worktree')
  return answer === 'own' || answer === 'none' ? answer === 'own' : undefined
}

/** Reads a text field of a form; undefined if it is empty. */
export const textFieldValue = (fields: FormData, name: string): string | undefined =>
  String(fields.get(name) ?? '').trim() || undefined

/** Options for the CLIs that can carry out a worker or a run: first the installed ones, then the others. */
export function CliOptions({ column }: { column: 'worker' | 'run' }) {
  const { clis: installed } = useCell(connection)
  const names: readonly string[] = clisWith(column).map(({ name }) => name)
  const there = names.filter((name) => installed.includes(name))
  const missing = names.filter((name) => !installed.includes(name))
  return (
    <>
      {there.map(optionOf)}
      {missing.length > 0 && <optgroup label="Not installed here">{missing.map(optionOf)}</optgroup>}
    </>
  )
}

const optionOf = (name: string) => (
  <option key={name} value={name}>
    {clis.find((each) => each.name === name)?.title}
  </option>
)
