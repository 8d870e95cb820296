// Formats sizes of files and payloads for people, on the dashboard and in a terminal.

const units = ['B', 'KB', 'MB', 'GB']

/** Formats a size such as `312 B`, `1.2 KB`, `120 KB`, `5.0 MB`. */
export function sizeText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1_000
  return `${unit > 0 && value < 99.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}
