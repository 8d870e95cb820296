// What keeps other workspaces from being opened, with what helps: a database that was cut, is gone, or is another one's.

import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { Failure } from './bits.tsx'

export function Faults() {
  const { faults } = useCell(connection)
  return faults.map((text) => <Failure key={text} text={text} />)
}
