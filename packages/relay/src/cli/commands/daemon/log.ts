// The lines that the daemon's own process logs: text for people, or with `--log-json` one JSON object per line for log collectors.

import { RefusalError } from '../../../core/refusal-error.ts'

type Field = string | number | undefined

export class DaemonLog {
  readonly #isJson: boolean

  constructor(isJson: boolean) {
    this.#isJson = isJson
  }

  /** `fields` are the values in the text, for programs. */
  logEvent(
    event: 'started' | 'port.moved' | 'stopping' | 'stopped',
    text: string,
    fields: Record<string, Field> = {},
  ): void {
    this.#write('info', event, text, fields)
  }

  /** Logs an error. The stack trace is left out if it is a refusal, an expected "no". */
  logError(error: Error): void {
    const { code } = error as { code?: unknown }
    const isRefusal = error instanceof RefusalError
    const fields = { code: typeof code === 'string' ? code : undefined, stack: isRefusal ? undefined : error.stack }
    this.#write('error', 'trouble', this.#isJson || isRefusal ? error.message : (error.stack ?? error.message), fields)
  }

  #write(level: 'info' | 'error', event: string, text: string, fields: Record<string, Field>): void {
    const time = new Date().toISOString()
    const line = this.#isJson ? JSON.stringify({ time, level, event, text, ...fields }) : `${time} ${text}`
    process.stderr.write(`${line}\n`)
  }
}
