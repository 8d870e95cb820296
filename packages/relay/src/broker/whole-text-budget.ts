// Limits how many whole tasks and contracts one answer about many agents or runs contains. Beyond the limit they are left out, or cut to their first line.

/** The limit in bytes as JSON: a third of the longest line of the protocol, so that the texts are read and written within one turn of the event loop. */
const bytesMax = 4 * 1024 * 1024

export class WholeTextBudget {
  #left: number

  constructor(isAsked: boolean) {
    this.#left = isAsked ? bytesMax : 0
  }

  get hasRoom(): boolean {
    return this.#left > 0
  }

  add<T extends string | undefined>(text: T): T {
    if (text !== undefined) this.#left -= Buffer.byteLength(JSON.stringify(text))
    return text
  }
}
