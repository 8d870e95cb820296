// One row for each measure, with its verdict, printed in aligned columns.

export interface Measure {
  measure: string
  /** With its unit, for the reader. */
  value: string
  floor?: string
  /** To the floor, measured in the same run: this is what the benchmark fails by. */
  ratio?: number
  /** Without a ratio it is an absolute one: a busy or slow machine misses it, so the reader judges. */
  limit?: string
  isMet?: boolean
  lagMs: number
  /** Said below the table. */
  note?: string
  /** The part has ended without its rows. */
  isFailed?: boolean
}

/** The row of a part that has ended without rows. */
export function failedRow(part: string, why: string): Measure {
  return { measure: part, value: `failed: ${why}`, lagMs: 0, isFailed: true }
}

/** `max`: how many times the floor it may be. */
export interface Compared {
  value: number
  floor: number
  unit: string
  max: number
  note?: string | undefined
}

/** What must not be larger than so many times its floor. */
export function against(measure: string, { value, floor, unit, max, note }: Compared): Measure {
  const shown = (figure: number) => `${figure.toFixed(figure < 10 ? 2 : 1)} ${unit}`
  const ratio = value / floor
  const told = { measure, value: shown(value), floor: shown(floor), ratio, limit: `<= ${max}`, isMet: ratio <= max }
  return { ...told, lagMs: 0, ...(note === undefined ? {} : { note }) }
}

const heads = ['measure', 'value', 'floor', 'ratio', 'limit', 'verdict', 'loop lag p99']

export function isFailure({ ratio, isMet, isFailed }: Measure): boolean {
  return isFailed === true || (ratio !== undefined && isMet === false)
}

function verdict(measure: Measure): string {
  if (measure.isMet === undefined) return ''
  return measure.isMet ? 'ok' : isFailure(measure) ? 'MISSED' : 'over'
}

export function print(all: Measure[]): string {
  const measures = all.filter(({ isFailed }) => !isFailed)
  const failures = all.filter(({ isFailed }) => isFailed).map(({ measure, value }) => `${measure}: ${value}`)
  if (measures.length === 0) return failures.join('\n')
  return [...tableLines(measures), ...failures].join('\n')
}

function tableLines(measures: Measure[]): string[] {
  const rows = measures.map((each) => [
    each.measure,
    each.value,
    each.floor ?? '',
    each.ratio === undefined ? '' : each.ratio.toFixed(2),
    each.limit ?? '',
    verdict(each),
    `${each.lagMs.toFixed(1)} ms`,
  ])
  const lines = [heads, ...rows]
  const widths = heads.map((_, column) => Math.max(...lines.map((row) => (row[column] as string).length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width))
  const notes = measures.filter(({ note }) => note).map(({ measure, note }) => `${measure}: ${note}`)
  return [line(heads), line(rule), ...rows.map(line), '', ...notes]
}
