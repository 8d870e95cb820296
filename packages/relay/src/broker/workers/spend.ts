// The tokens and costs of agents' models: recorded turn by turn, and listed for readers who may know them.

import type { OutputOf, ParsedInputOf, SpendGroup, SpendLine } from '@agent-relay/sdk/protocol'
import { type Reader, sees } from '../../core/sight.ts'
import { type SpendInput, usdPartsPerDollar } from '../../core/spend.ts'
import type { Steps } from '../../core/steps.ts'
import type { SpendRow } from '../../store/spend-rows.ts'
import type { Store } from '../../store/store.ts'
import type { WorkspaceParts } from '../call.ts'

/** Maximum number of listed lines; the total covers all lines. */
const linesMax = 1_000

/** Records the tokens and cost of one turn of a model. `cause` names the turn, so that it is counted once. */
export async function recordSpend(
  { engine, ids }: Pick<WorkspaceParts, 'engine' | 'ids'>,
  agent: string,
  cause: string,
  input: SpendInput,
): Promise<void> {
  const note = { rule: 'spend.note', input, by: agent } as const
  const reply = await engine.submit({ ...note, cause })
  // The agent may have used this cause (command id) for a command of its own: then the spend is stored under a new one.
  if ('refusal' in reply && reply.refusal.code === 'call.reused') await engine.submit({ ...note, cause: ids('d') })
}

export function* listSpend(
  store: Store,
  reader: Reader,
  { by = 'agent' }: ParsedInputOf<'spend.list'>,
): Steps<OutputOf<'spend.list'>> {
  const seen = new Map<string, boolean>()
  const isSeen = (agent: string) => {
    const known = seen.get(agent) ?? sees(store.view, reader, 'spend', { agent })
    seen.set(agent, known)
    return known
  }
  const lines = new Map<string, SpendSum>()
  const total = new SpendSum({})
  yield* store.spend.forEachRow((row) => {
    if (!isSeen(row.agent)) return
    const key = row[by] ?? ''
    const sum = lines.get(key) ?? new SpendSum(namesOf(row, by))
    lines.set(key, sum)
    sum.add(row)
    total.add(row)
  })
  const listed = [...lines.values()].map(({ line }) => line)
  const isFirst = (a: SpendLine, b: SpendLine) =>
    by === 'day' ? (b.day ?? '').localeCompare(a.day ?? '') : sizeOf(b) - sizeOf(a)
  return { by, spend: listed.sort(isFirst).slice(0, linesMax), total: total.line }
}

/** Returns the names that a line of the list shows: a run belongs to one agent; a model or a day may have several agents. */
function namesOf({ agent, run, model, day }: SpendRow, by: SpendGroup): Partial<SpendLine> {
  if (by === 'run') return run === undefined ? {} : { run, agent }
  if (by === 'model') return model === undefined ? {} : { model }
  return by === 'day' ? { day } : { agent }
}

function sizeOf({ tokens: { input, output } }: SpendLine): number {
  return input + output
}

class SpendSum {
  readonly #names: Partial<SpendLine>
  readonly #tokens = { input: 0, output: 0, cached: 0 }
  /** The cost in millionths of a dollar, since sums of fractions are not exact. */
  #usdParts: number | undefined
  #turns = 0

  constructor(names: Partial<SpendLine>) {
    this.#names = names
  }

  add({ tokens, usd, turns }: SpendRow): void {
    this.#tokens.input += tokens.input
    this.#tokens.output += tokens.output
    this.#tokens.cached += tokens.cached
    if (usd !== undefined) this.#usdParts = (this.#usdParts ?? 0) + Math.round(usd * usdPartsPerDollar)
    this.#turns += turns
  }

  get line(): SpendLine {
    const line = { ...this.#names, tokens: { ...this.#tokens }, turns: this.#turns }
    return this.#usdParts === undefined ? line : { ...line, usd: this.#usdParts / usdPartsPerDollar }
  }
}
