// Lists the problems that keep other workspaces from being opened, each with a fix: a database that is damaged, missing, or belongs to another workspace.

import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { FailureText } from './bits.tsx'

export function Faults() {
  const { faults } = useCell(connection)
  return faults.map((text) => <FailureText key={text} text={text} />)
}
