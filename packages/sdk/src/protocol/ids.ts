// Makes ids that sort by time. Random ids would cost the store 40 % of its throughput, because each insert would change another page of the index.

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's base 32: no i, l, o, u
const timeChars = 10
const randomChars = 16

export type Ids = (prefix: string) => string

/**
 * Returns a function that makes ids. Within one millisecond it counts the random part up, so that each id sorts after the one before. Only the ids of runs are
 * random each time: where no credential is needed, knowing a run's id gives the right to the run, so no other id may help to guess it.
 */
export function makeIds(now: () => number = Date.now, random: (bytes: Uint8Array) => void = fillRandom): Ids {
  const counted = new Uint8Array(randomChars)
  let last = -1
  return (prefix) => {
    const isRight = prefix === 'run'
    const time = Math.max(now(), last)
    const digits = isRight ? new Uint8Array(randomChars) : counted
    if (isRight || time > last) draw(digits, random)
    else increment(digits)
    if (!isRight) last = time
    let id = ''
    for (let i = 0, rest = time; i < timeChars; i++, rest = Math.floor(rest / 32)) id = alphabet[rest % 32] + id
    for (const digit of digits) id += alphabet[digit]
    return `${prefix}_${id}`
  }
}

/** Returns the time at which an id was made, in ms since 1970; undefined for any other text. */
export function timeOfId(id: string): number | undefined {
  const [, digits] = /^[a-z]+_([0-9a-hjkmnp-tv-z]{10})[0-9a-hjkmnp-tv-z]{16}$/.exec(id) ?? []
  return digits === undefined ? undefined : [...digits].reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}

function draw(digits: Uint8Array, random: (bytes: Uint8Array) => void): void {
  random(digits)
  for (let i = 0; i < randomChars; i++) digits[i] = (digits[i] as number) & 31
}

/** Random bytes for the next ids, each used once: filling bytes for 64 ids takes hardly longer than for one. */
const drawn = new Uint8Array(64 * randomChars)
let used = drawn.length

function fillRandom(bytes: Uint8Array): void {
  if (used + bytes.length > drawn.length) {
    globalThis.crypto.getRandomValues(drawn)
    used = 0
  }
  bytes.set(drawn.subarray(used, used + bytes.length))
  drawn.fill(0, used, used + bytes.length)
  used += bytes.length
}

function increment(digits: Uint8Array): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const next = (digits[i] as number) + 1
    digits[i] = next & 31
    if (next < 32) return
  }
}
