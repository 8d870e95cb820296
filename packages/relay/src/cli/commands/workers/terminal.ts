// `logs` and `attach`: show a worker's terminal in this one.

import { type RelayClient, RelayError } from '@agent-relay/sdk'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { withClient, withClientAsPerson } from '../../connection.ts'
import { endingSignal, untilAborted } from '../../ending.ts'
import { logLinesDefault } from '../../options.ts'
import { cleanStreamPart, cleanText, oneLine } from '../../text.ts'
import { TerminalFilter } from './terminal-filter.ts'

/** The key Ctrl-], which ends `attach`. */
const detachKey = '\u001d'
/** Maximum number of characters that one call sends. Keys typed while a call is under way wait for the next one. */
const typeCharsMax = 8 * 1024
/** Resets what a full-screen program may have changed in the terminal: alternate screen, mouse, paste, keyboard mode, cursor, colours. */
const leaveScreen =
  '\u001b[?1049l\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[<u\u001b[?25h\u001b[0m\r\n'

const logsOptions = {
  lines: { flags: '--lines <n>', text: 'how many lines (100)', number: [1, 10_000] },
  follow: { flags: '--follow', text: 'keep showing what it prints, until Ctrl-C' },
} satisfies CliOptions

export const logs: CliCommand<typeof logsOptions> = {
  argumentKind: 'agents',
  options: logsOptions,
  examples: ['agent-relay logs Fixer', 'agent-relay logs Fixer --follow'],
  run: runLogs,
}

async function runLogs(context: CommandContext<typeof logsOptions>): Promise<void> {
  const { args, options, print } = context
  const name = args[0] as string
  await withClient(context, 'agent', async ({ client }) => {
    const { text, exited } = await client.call('worker.screen', { name, lines: options.lines ?? logLinesDefault })
    if (print.isJson) await print.json({ name, text, exited })
    else await print.line(cleanText(text).trimEnd())
    if (exited !== undefined) return print.say(oneLine(exited))
    if (!options.follow) return
    const ending = endingSignal()
    const exit = await follow(client, name, ending, ({ data, isPast }) => {
      // Output from before the call is left out: it is part of the screen that was printed.
      if (!isPast) void (print.isJson ? print.json({ name, data }) : process.stdout.write(cleanStreamPart(data)))
    })
    if (exit !== undefined) print.say(oneLine(exit))
  })
}

export const attach: CliCommand = { argumentKind: 'agents', examples: ['agent-relay attach Fixer'], run: runAttach }

async function runAttach(context: CommandContext): Promise<void> {
  const { args, print } = context
  const name = args[0] as string
  const { stdin, stdout } = process
  if (!stdin.isTTY || !stdout.isTTY)
    throw new CommandError(`attach needs a terminal. To read only: agent-relay logs ${name}`, exitCodes.usage)
  await withClientAsPerson(context, async ({ client }) => {
    // The worker's state is asked first, so that a refusal comes before this terminal is changed.
    const { exited: before } = await client.call('worker.screen', { name, lines: 1 })
    if (before !== undefined)
      throw new CommandError(`${before}. Its last screen: agent-relay logs ${name}`, exitCodes.refused)
    const ending = new AbortController()
    endingSignal().addEventListener('abort', () => ending.abort())
    print.say(`Attached to ${name}. Ctrl-] leaves; it goes on running.`)
    const keys = new Keyboard(client, name, () => ending.abort())
    const resize = () => {
      const { columns: cols, rows } = stdout
      client.call('worker.resize', { name, cols, rows }).catch(() => {})
    }
    const filter = new TerminalFilter()
    stdin.setRawMode(true)
    stdin.on('data', keys.typed)
    stdout.on('resize', resize)
    resize()
    let exited: string | undefined
    try {
      exited = await follow(client, name, ending.signal, ({ data }) => stdout.write(filter.pass(data)))
    } finally {
      stdin.off('data', keys.typed)
      stdout.off('resize', resize)
      stdin.setRawMode(false)
      stdin.pause()
      stdout.write(leaveScreen)
    }
    if (keys.refusal) throw keys.refusal
    print.say(exited === undefined ? `Detached; ${name} goes on.` : oneLine(exited))
  })
}

/** Passes on the worker's output. Resolves when `ending` is aborted, or with the reason when the worker exits; rejects if the relay refuses. */
async function follow(
  client: RelayClient,
  name: string,
  ending: AbortSignal,
  onOutput: (output: OutputOf<'worker.follow'>) => void,
): Promise<string | undefined> {
  let stop = () => {}
  const over = new Promise<string>((resolve, reject) => {
    stop = client.follow('worker.follow', {
      input: () => ({ name }),
      established: () => {},
      item: onOutput,
      failed: (error) => (error.code === 'worker.exited' ? resolve(error.message) : reject(error)),
    })
  })
  try {
    return await Promise.race([over, untilAborted(ending).then(() => undefined)])
  } finally {
    stop()
  }
}

/** Sends typed keys to the worker, one call after the other, so that they arrive in order. */
class Keyboard {
  readonly #client: RelayClient
  readonly #name: string
  readonly #leave: () => void
  refusal: RelayError | undefined
  #waiting = ''
  #isSending = false

  constructor(client: RelayClient, name: string, leave: () => void) {
    this.#client = client
    this.#name = name
    this.#leave = leave
  }

  readonly typed = (chunk: Buffer): void => {
    const text = chunk.toString('utf8')
    const end = text.indexOf(detachKey)
    this.#waiting += end < 0 ? text : text.slice(0, end)
    void this.#send().then(() => end >= 0 && this.#leave())
  }

  /** Ends `attach` if a key is refused because only a person may answer the worker's dialog: nobody at this terminal counts as a person. */
  #refused(error: unknown): void {
    if (!(error instanceof RelayError) || error.code !== 'person.required') return
    this.refusal = error
    this.#leave()
  }

  async #send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    while (this.#waiting !== '') {
      const data = this.#waiting.slice(0, typeCharsMax).replace(/[\uD800-\uDBFF]$/, '')
      this.#waiting = this.#waiting.slice(data.length)
      await this.#client.call('worker.type', { name: this.#name, data }).catch((error) => this.#refused(error))
    }
    this.#isSending = false
  }
}
