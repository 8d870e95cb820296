// The interface of a configuration format (JSON with comments, TOML) for adding and removing one entry, and comparisons that prove that an edit
// changed nothing else. No file is touched here.

/** How an entry is found in its container: by its key in an object, or as the list item in which some string contains the text `mark`. */
export type EntrySlot = string | { mark: string }

/** Edits the text of a configuration file. Every byte outside the entry stays. An edit that is impossible throws `FileUntouchedError`. */
export interface ConfigFormat {
  /** The whole document as a value; `{}` for an empty document. */
  parse(text: string): unknown
  put(text: string, path: readonly string[], slot: EntrySlot, value: unknown): string
  remove(text: string, path: readonly string[], slot: EntrySlot): string
}

/** The byte order mark of a file, as text; it must stay first. */
export const byteOrderMark = '\ufeff'

export function endOfLine(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n'
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether two parsed values are equal. Compares by hand, since the parsers return objects without a prototype, and TOML has dates. */
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

/** Whether a string at any depth of `value` contains the text `mark`. */
export function containsMark(value: unknown, mark: string): boolean {
  if (typeof value === 'string') return value.includes(mark)
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => containsMark(each, mark))
}

/** Returns the value at `path`; undefined where a key of the path is missing. */
export function valueAt(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    values,
  )
}

/** Returns the entry; undefined where there is no such entry. */
export function findEntry(values: unknown, path: readonly string[], slot: EntrySlot): unknown {
  const container = valueAt(values, path)
  if (typeof slot === 'string') return valueAt(container, [slot])
  return Array.isArray(container) ? container.find((item) => containsMark(item, slot.mark)) : undefined
}

/** Counts the keys of `path` that are missing. */
export function countMissingKeys(values: unknown, path: readonly string[]): number {
  return path.filter((_, i) => valueAt(values, path.slice(0, i + 1)) === undefined).length
}

/** Whether `after` has the entry with this value, and no other difference from `before`. */
export function isOnlyEntryChanged(
  before: unknown,
  after: unknown,
  path: readonly string[],
  slot: EntrySlot,
  value: unknown,
): boolean {
  return isEqual(findEntry(after, path, slot), value) && isEqualApartFromEntry(before, after, path, slot)
}

/** Whether two documents are equal apart from the entry. A container on the entry's path that is empty without the entry may be missing in either. */
export function isEqualApartFromEntry(
  before: unknown,
  after: unknown,
  path: readonly string[],
  slot: EntrySlot,
): boolean {
  return isEqual(withoutEntry(before, path, slot), withoutEntry(after, path, slot))
}

function withoutEntry(values: unknown, path: readonly string[], slot: EntrySlot): unknown {
  const [key, ...rest] = path
  if (key === undefined) {
    if (typeof slot === 'string') return isObject(values) ? omit(values, slot) : values
    return Array.isArray(values) ? values.filter((item) => !containsMark(item, slot.mark)) : values
  }
  if (!isObject(values) || !Object.hasOwn(values, key)) return values
  const inner = withoutEntry(values[key], rest, slot)
  const isEmpty = typeof inner === 'object' && inner !== null && Object.keys(inner).length === 0
  return isEmpty ? omit(values, key) : { ...values, [key]: inner }
}

function omit(values: Record<string, unknown>, key: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name !== key))
}

/** Wraps the value in objects with the keys of `path`, and in a list if the entry is a list item. */
export function nestEntry(path: readonly string[], slot: EntrySlot, value: unknown): unknown {
  const innermost = typeof slot === 'string' ? { [slot]: value } : [value]
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), innermost)
}

/**
 * Thrown if a file was not edited; the file is unchanged. `isContentFault`: the file's content is the reason, so the person must paste the entry by
 * hand.
 */
export class FileUntouchedError extends Error {
  readonly isContentFault: boolean

  constructor(why: string, isContentFault = false) {
    super(why)
    this.name = 'FileUntouchedError'
    this.isContentFault = isContentFault
  }
}

/** The number of the line at an offset into the text. */
export function lineNumberAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
