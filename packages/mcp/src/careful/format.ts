// The contract of a file format (JSON with comments, TOML) for the careful edit, and comparisons that prove an edit right. It touches no file.

/** The place of an entry in its container: under a name in an object, or as the item of a list in which some string holds the mark. */
export type Slot = string | { mark: string }

/** A format edits texts. Everything that is not the entry keeps its bytes; an edit that cannot be made throws `Untouched`. */
export interface Format {
  /** The whole document as a value; `{}` for an empty document. */
  values(text: string): unknown
  put(text: string, path: readonly string[], slot: Slot, value: unknown): string
  remove(text: string, path: readonly string[], slot: Slot): string
}

/** The byte order mark of a file, as text; it must stay first. */
export const bom = '\ufeff'

export function endOfLine(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n'
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether two parsed values are equal. The parsers make objects without a prototype, and TOML's dates. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (one instanceof Date || other instanceof Date) return JSON.stringify([one]) === JSON.stringify([other])
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  const values = other as Record<string, unknown>
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual((one as Record<string, unknown>)[key], values[key]))
  )
}

/** Whether some string within `value` holds the mark. */
export function holds(value: unknown, mark: string): boolean {
  if (typeof value === 'string') return value.includes(mark)
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => holds(each, mark))
}

/** The value at `path`; undefined if the path does not lead so far. */
export function at(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    values,
  )
}

/** The entry; undefined where it is missing. */
export function entryOf(values: unknown, path: readonly string[], slot: Slot): unknown {
  const container = at(values, path)
  if (typeof slot === 'string') return at(container, [slot])
  return Array.isArray(container) ? container.find((item) => holds(item, slot.mark)) : undefined
}

/** The number of keys of `path` that are missing. */
export function missing(values: unknown, path: readonly string[]): number {
  return path.filter((_, i) => at(values, path.slice(0, i + 1)) === undefined).length
}

/** Whether `after` is `before` with the entry and no other difference. */
export function isPut(before: unknown, after: unknown, path: readonly string[], slot: Slot, value: unknown): boolean {
  return isEqual(entryOf(after, path, slot), value) && isElsewhereEqual(before, after, path, slot)
}

/** Whether nothing but the entry differs; containers on the way to it may come and go when they are empty. */
export function isElsewhereEqual(before: unknown, after: unknown, path: readonly string[], slot: Slot): boolean {
  return isEqual(without(before, path, slot), without(after, path, slot))
}

function without(values: unknown, path: readonly string[], slot: Slot): unknown {
  const [key, ...rest] = path
  if (key === undefined) {
    if (typeof slot === 'string') return isObject(values) ? omit(values, slot) : values
    return Array.isArray(values) ? values.filter((item) => !holds(item, slot.mark)) : values
  }
  if (!isObject(values) || !Object.hasOwn(values, key)) return values
  const inner = without(values[key], rest, slot)
  const isEmpty = typeof inner === 'object' && inner !== null && Object.keys(inner).length === 0
  return isEmpty ? omit(values, key) : { ...values, [key]: inner }
}

function omit(values: Record<string, unknown>, key: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name !== key))
}

/** The value with the objects and the list around it that `path` asks for. */
export function nested(path: readonly string[], slot: Slot, value: unknown): unknown {
  const innermost = typeof slot === 'string' ? { [slot]: value } : [value]
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), innermost)
}

/**
 * The one error of the careful edit: the change was not made, and the file is as it was. `isConfig`: the file's content is the reason, so the
 * person must paste the entry by hand.
 */
export class Untouched extends Error {
  readonly isConfig: boolean

  constructor(why: string, isConfig = false) {
    super(why)
    this.name = 'Untouched'
    this.isConfig = isConfig
  }
}

/** The number of the line at an offset into the text. */
export function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
