// The thread in which a database is copied: see snapshot.ts.

import { copyDatabase } from './snapshot.ts'
import { runAsThread } from './thread.ts'

runAsThread(({ from, to }: { from: string; to: string }) => copyDatabase(from, to))
