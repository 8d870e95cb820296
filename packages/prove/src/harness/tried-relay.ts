// The relay under test, as the caller describes it: this package itself imports nothing of the relay.

export interface TriedRelay {
  /** The path of the file that Node runs as `agent-relay`. */
  launcher: string
  /** Reads a database that no daemon has open. */
  read(databasePath: string): DatabaseContent
}

interface DatabaseContent {
  /** The first 200 characters of each message's body, in the order in which the messages were stored. */
  bodies: string[]
  /** The first 200 characters of the body of each message that was pruned into the workspace's archive. */
  archived: string[]
  /** The result of SQLite's integrity check of the whole file: `ok`, or what is damaged. */
  integrity: string
}
