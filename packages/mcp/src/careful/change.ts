// Describes the difference between two texts as one replaced range, to show it as a diff and to undo it later.

export interface TextChange {
  offset: number
  removed: string
  added: string
}

export function changeBetween(before: string, after: string): TextChange {
  const least = Math.min(before.length, after.length)
  let start = 0
  while (start < least && before[start] === after[start]) start++
  let tail = 0
  while (tail < least - start && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  return {
    offset: start,
    removed: before.slice(start, before.length - tail),
    added: after.slice(start, after.length - tail),
  }
}

/** Returns the text as it was before the change; undefined if the added text is not found, or found twice. */
export function revertChange(
  text: string,
  { offset, removed, added }: TextChange,
  isUnchanged: boolean,
): string | undefined {
  const at = isUnchanged ? offset : text.indexOf(added)
  if (at < 0 || added === '') return undefined
  if (!isUnchanged && text.indexOf(added, at + 1) >= 0) return undefined
  return text.slice(0, at) + removed + text.slice(at + added.length)
}

const contextLines = 3

/** Returns the difference in the form of `diff -u`, as one hunk. */
export function diffText(file: string, before: string | undefined, after: string | undefined): string {
  const [old, now] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let tail = 0
  while (tail < Math.min(old.length, now.length) - start && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const from = Math.max(0, start - contextLines)
  const kept = Math.max(0, tail - contextLines)
  const range = (lines: string[]) => {
    const count = lines.length - kept - from
    return count === 0 ? `${from},0` : `${from + 1},${count}`
  }
  return [
    `--- ${before === undefined ? '/dev/null' : file}`,
    `+++ ${after === undefined ? '/dev/null' : file}`,
    `@@ -${range(old)} +${range(now)} @@`,
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - tail).map((line) => `-${line}`),
    ...now.slice(start, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail, old.length - kept).map((line) => ` ${line}`),
  ].join('\n')
}

function linesOf(text = ''): string[] {
  const lines = text.split(/\r?\n/)
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}
