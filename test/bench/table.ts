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

export function isFailure({ ratio, isMet }: Measure): boolean {
  return ratio !== undefined && isMet === false
}

function verdict(measure: Measure): string {
  if (measure.isMet === undefined) return ''
  return measure.isMet ? 'ok' : isFailure(measure) ? 'MISSED' : 'over'
}

export function print(measures: Measure[]): string {
  const rows = measures.map((each) => [
    each.measure,
    each.value,
    each.floor ?? '',
    each.ratio === undefined ? '' : each.ratio.toFixed(2),
    each.limit ?? '',
    verdict(each),
    `${each.lagMs.toFixed(1)} ms`,
  ])
  const all = [heads, ...rows]
  const widths = heads.map((_, column) => Math.max(...all.map((row) => (row[column] as string).length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width))
  const notes = measures.filter(({ note }) => note).map(({ measure, note }) => `${measure}: ${note}`)
  return [line(heads), line(rule), ...rows.map(line), '', ...notes].join('\n')
}
