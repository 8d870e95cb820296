// The one error of the careful edit: a change that was not made, why, and how the process should end for it.

/** The file is as it was. `isConfig`: what stands in the file is the reason, so the person must paste the entry by hand. */
export class Untouched extends Error {
  readonly isConfig: boolean

  constructor(why: string, isConfig = false) {
    super(why)
    this.name = 'Untouched'
    this.isConfig = isConfig
  }
}

/** `at` is an offset into `text`. */
export function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
