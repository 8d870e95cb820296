// Ids that sort by the time they were made. Random ids cost 40 % of the store's throughput (every index insert lands elsewhere).

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's: no i, l, o, u
const timeChars = 10
const randomChars = 16

export type Ids = (prefix: string) => string

/** Ids that are a right to what they name, on a port that asks for nothing else: no other id gives them away. */
const isRight: ReadonlySet<string> = new Set(['run'])

/** Within one millisecond the random part counts upward, so that ids of one maker never run backward; not of those that are a right. */
export function makeIds(now: () => number = Date.now, random: (bytes: Uint8Array) => void = fillRandom): Ids {
  let digits = new Uint8Array(randomChars)
  let last = -1
  const fresh = () => {
    const drawn = new Uint8Array(randomChars)
    random(drawn)
    return drawn.map((byte) => byte & 31)
  }
  const next = (isLater: boolean) => {
    if (isLater) digits = fresh()
    else increment(digits)
    return digits
  }
  return (prefix) => {
    const time = now()
    const isLater = time > last
    if (isLater) last = time
    const counted = next(isLater)
    const chosen = isRight.has(prefix) ? fresh() : counted
    let id = ''
    for (let i = 0, rest = last; i < timeChars; i++, rest = Math.floor(rest / 32)) id = alphabet[rest % 32] + id
    for (const digit of chosen) id += alphabet[digit]
    return `${prefix}_${id}`
  }
}

function fillRandom(bytes: Uint8Array): void {
  globalThis.crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>)
}

function increment(digits: Uint8Array): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const next = (digits[i] as number) + 1
    digits[i] = next & 31
    if (next < 32) return
  }
}
