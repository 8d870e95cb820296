// The first line that a daemon hears from a pipe: who it is. It needs no other file, because it is loaded first.

export interface Identity {
  /** Stays the same for as long as the host's session lasts, whichever daemon serves it. */
  pipe: string
  name?: string
  type?: string
  token?: string
  key?: string
  strict?: boolean
  tools?: string
  push?: string
  /** The process that started the pipe: a hook of the same host is started by it too, and speaks for the same agent. */
  host?: number
}

/** `calls` were sent to an earlier daemon, and their answers never arrived. */
export function helloLine(identity: Identity, calls?: (string | number)[]): string {
  return `${JSON.stringify({ v: 1, type: 'HELLO', id: 'pipe', ts: Date.now(), payload: { mcp: { ...identity, calls } } })}\n`
}

/** Ordered by time, and unlike every other; not a secret. `node:crypto` would cost an eighth of the start. */
export function newPipeId(): string {
  const chance = Math.random().toString(36).slice(2)
  return `p_${Date.now().toString(36)}_${process.pid.toString(36)}_${chance.padEnd(11, '0')}`
}
