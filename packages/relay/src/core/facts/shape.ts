// Checks of the fields of facts: an entry from another machine with a wrong field is ignored. Every text has a maximum length, so that any list can show the
// text; no maximum is below the lengths that operations accept.

import { limits, oneLinePattern } from '@agent-relay/sdk/protocol'

/** The longest list that a fact may hold. The longest that the relay writes, the receipts in one report of deliveries, have some thousand items at most. */
const listMax = 10_000

export type FieldCheck = (value: unknown) => boolean

/** A check for each field of a fact. */
export type FieldChecks<F> = { readonly [K in Exclude<keyof F, 'type'>]-?: FieldCheck }

/** Checks names and other texts that are printed inside a line. */
export const isLabel: FieldCheck = (value) => isWithin(value, 200) && oneLinePattern.test(value as string)
export const isConversationName: FieldCheck = (value) =>
  isWithin(value, limits.conversationCharsMax) && oneLinePattern.test(value as string)
/** Checks ids and paths. */
export const isText: FieldCheck = (value) => isWithin(value, limits.pathCharsMax)
/** Checks text that somebody has written for others to read. */
export const isLongText: FieldCheck = (value) => isWithin(value, limits.bodyBytesMax)
export const isFlag: FieldCheck = (value) => typeof value === 'boolean'
export const isWholeNumber: FieldCheck = Number.isSafeInteger
export const isCount: FieldCheck = (value) => isWholeNumber(value) && (value as number) >= 0
export const isAmount: FieldCheck = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0
export const isRecord: FieldCheck = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checks a JSON object that a user of the relay has written. */
export const isJsonObject: FieldCheck = (value) => isRecord(value) && isLongText(JSON.stringify(value))

function isWithin(value: unknown, charsMax: number): boolean {
  return typeof value === 'string' && value.length <= charsMax
}

export function optional(check: FieldCheck): FieldCheck {
  return (value) => value === undefined || check(value)
}

export function isListOf(check: FieldCheck): FieldCheck {
  return (value) => Array.isArray(value) && value.length <= listMax && value.every(check)
}

export function isOneOf(...words: readonly string[]): FieldCheck {
  return (value) => words.includes(value as string)
}

/** Checks that a value is an object with at least these fields. */
export function hasFields(shape: Readonly<Record<string, FieldCheck>>): FieldCheck {
  return (value) => isRecord(value) && wrongField(value as object, shape) === undefined
}

/** Returns the name of the first field that fails its check. */
export function wrongField(value: object, shape: Readonly<Record<string, FieldCheck>>): string | undefined {
  const given = value as Record<string, unknown>
  return Object.keys(shape).find((name) => !shape[name]?.(Object.hasOwn(given, name) ? given[name] : undefined))
}
