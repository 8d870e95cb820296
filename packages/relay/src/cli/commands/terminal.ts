// `logs` and `attach`: a worker's terminal, seen from this one.

import type { OutputOf, RelayClient } from '@agent-relay/sdk'
import { CommandError, exits, type Run } from '../command.ts'
import { withClient } from '../context.ts'
import { awaitEnding, ended } from '../ending.ts'
import { TerminalFilter } from '../terminal-filter.ts'
import { clean, oneLine } from '../text.ts'

const linesDefault = 100
/** Ctrl-] */
const detachKey = '\u001d'
/** Typed while the call before is under way: sent with the next one, so that keys keep their order. */
const typeBytesMax = 32 * 1024
/** Puts back what a full-screen program may have switched: alternate screen, mouse, paste, keyboard mode, cursor, colours. */
const leaveScreen =
  '\u001b[?1049l\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[<u\u001b[?25h\u001b[0m\r\n'

export const logs: Run = async (invocation) => {
  const { args, options, print } = invocation
  const name = args[0] as string
  await withClient(invocation, 'agent', async ({ client }) => {
    const { text, exited } = await client.call('worker.screen', { name, lines: options.lines ?? linesDefault })
    if (print.isJson) await print.json({ name, text, exited })
    else await print.line(clean(text).trimEnd())
    if (exited !== undefined) return print.say(oneLine(exited))
    if (!options.follow) return
    const ending = awaitEnding()
    const exit = await follow(client, name, ending, ({ data, isPast }) => {
      // What stands there already was printed as the screen above.
      if (!isPast) void (print.isJson ? print.json({ name, data }) : process.stdout.write(clean(data)))
    })
    if (exit !== undefined) print.say(oneLine(exit))
  })
}

export const attach: Run = async (invocation) => {
  const { args, print } = invocation
  const name = args[0] as string
  const { stdin, stdout } = process
  if (!stdin.isTTY || !stdout.isTTY)
    throw new CommandError(`attach needs a terminal. To read only: agent-relay logs ${name}`, exits.usage)
  await withClient(invocation, 'agent', async ({ client }) => {
    // Refused here, before this terminal is changed.
    const { exited: before } = await client.call('worker.screen', { name, lines: 1 })
    if (before !== undefined)
      throw new CommandError(`${before}. Its last screen: agent-relay logs ${name}`, exits.refused)
    const ending = new AbortController()
    awaitEnding().addEventListener('abort', () => ending.abort())
    print.say(`Attached to ${name}. Ctrl-] leaves; it goes on running.`)
    const keys = new Keys(client, name, () => ending.abort())
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
    print.say(exited === undefined ? `Detached; ${name} goes on.` : oneLine(exited))
  })
}

/** Resolves when `ending` is aborted, or with how the worker has exited; rejects when it is refused. */
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
    return await Promise.race([over, ended(ending).then(() => undefined)])
  } finally {
    stop()
  }
}

/** Keys on their way: one call at a time, so that they arrive in the order they were typed. */
class Keys {
  readonly #client: RelayClient
  readonly #name: string
  readonly #leave: () => void
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

  async #send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    while (this.#waiting !== '') {
      const data = this.#waiting.slice(0, typeBytesMax)
      this.#waiting = this.#waiting.slice(data.length)
      await this.#client.call('worker.type', { name: this.#name, data }).catch(() => {})
    }
    this.#isSending = false
  }
}
