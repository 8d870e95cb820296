// The thread in which a database is copied: see snapshot.ts.

import { copyDatabase } from './snapshot.ts'
import { workInThread } from './thread.ts'

workInThread(({ from, to }: { from: string; to: string }) => copyDatabase(from, to))
