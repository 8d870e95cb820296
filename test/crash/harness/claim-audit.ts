// Checks of agents that edit under claims, from outside: whether a denial was true when it was given, and whether a file holds the lines of
// two bursts mixed. No tests.

/** Of one file: who may hold it, and when each last asked. */
class FileRecord {
  readonly maybe = new Set<string>()
  readonly asked = new Map<string, number>()
}

export interface Verdict {
  isDenied: boolean
  text?: string
  met: readonly { agent: string; file: string }[]
}

export class ClaimAudit {
  readonly faults: string[] = []
  readonly #files = new Map<string, FileRecord>()
  #now = 0

  /** An agent asks about a file; the answer is to be told to what this returns, which says whether the edit goes ahead. */
  asks(agent: string, file: string): (verdict: Verdict) => boolean {
    const record = this.#of(file)
    const since = ++this.#now
    const before = new Set(record.maybe)
    const wasHeld = record.maybe.has(agent)
    record.maybe.add(agent)
    record.asked.set(agent, since)
    return ({ isDenied, text, met }) => {
      if (!isDenied) return true
      if (!text) this.faults.push(`${agent} was denied ${file} without a word`)
      if (!wasHeld) record.maybe.delete(agent)
      for (const { agent: holder, file: about } of met) {
        const mayHold = before.has(holder) || record.maybe.has(holder) || (record.asked.get(holder) ?? 0) > since
        if (!mayHold || holder === agent || about !== file || !text?.includes(holder))
          this.faults.push(`${agent} was denied ${file} for ${holder}, who did not have it: ${text}`)
      }
      return false
    }
  }

  /** It lets the file go. */
  drops(agent: string, file: string): void {
    this.#of(file).maybe.delete(agent)
  }

  #of(file: string): FileRecord {
    const record = this.#files.get(file) ?? new FileRecord()
    this.#files.set(file, record)
    return record
  }
}

/** Each burst writes lines of its own. They stand together, or somebody wrote between them: then those that came too late. */
export function interleaved(text: string): string[] {
  const over = new Set<string>()
  let last = ''
  return text.split('\n').filter((line) => {
    const isAgain = line !== last && over.has(line)
    if (line !== last) over.add(last)
    last = line
    return isAgain && line !== ''
  })
}
