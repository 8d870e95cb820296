// The relay that is tried, as its caller describes it: this package loads nothing of the relay.

export interface TriedRelay {
  /** The file that Node runs as `agent-relay`. */
  launcher: string
  /** Reads a database that no daemon has open. */
  read(databasePath: string): Content
}

interface Content {
  /** The first 200 characters of each message, in the order in which they were stored. */
  bodies: string[]
  /** What SQLite says about the whole file: `ok`, or what is damaged. */
  integrity: string
}
