// Tasks and contracts whole, in an answer about many: as far as one answer carries them. Beyond that they are left out, or in their first line.

/** As JSON. A third of what a line may have, and read and written within one turn of the event loop. */
const bytesMax = 4 * 1024 * 1024

export class WholeTexts {
  #left: number

  constructor(areAsked: boolean) {
    this.#left = areAsked ? bytesMax : 0
  }

  get haveRoom(): boolean {
    return this.#left > 0
  }

  add<T extends string | undefined>(text: T): T {
    if (text !== undefined) this.#left -= Buffer.byteLength(JSON.stringify(text))
    return text
  }
}
