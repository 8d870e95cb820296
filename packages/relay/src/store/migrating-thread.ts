// The thread that migrates a large database to this version: see migrating-ahead.ts.

import { Database } from './database.ts'
import { prepareDatabase } from './migrating.ts'
import { runAsThread } from './thread.ts'

runAsThread(({ path }: { path: string }) => {
  const database = new Database(path)
  prepareDatabase(database, () => {})
  database.close()
})
