// `prove`: tests on the user's own machine that the relay keeps its promises. The tests are in the package @agent-relay/prove, which only this command loads.

import type { Proof } from '@agent-relay/prove'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../command.ts'
import { endingSignal } from '../ending.ts'
import { countedText, oneLine } from '../text.ts'

const proveOptions = {
  only: {
    flags: '--only <name>',
    text: 'only this promise, by its name in the table',
    isList: true,
  },
} satisfies CliOptions

export const prove: CliCommand<typeof proveOptions> = {
  options: proveOptions,
  examples: ['agent-relay prove', 'agent-relay prove --only kill --only sync', 'agent-relay prove --json'],
  actsForNoAgent: true,
  run,
}

async function run({ options, print }: CommandContext<typeof proveOptions>): Promise<number> {
  // Imported here because they load the client and SQLite, which completion does not need.
  const { promiseNames, promises, prove } = await import('@agent-relay/prove')
  const { installedRelay } = await import('../own-relay.ts')
  const unknown = options.only?.find((name) => !(promiseNames as string[]).includes(name))
  if (unknown !== undefined)
    throw new CommandError(`There is no promise "${unknown}". There are: ${promiseNames.join(', ')}`, exitCodes.usage)
  const ending = endingSignal()
  let doing = ''
  const proofs = await prove({
    relay: installedRelay,
    only: options.only && promiseNames.filter((name) => options.only?.includes(name)),
    signal: ending,
    onBegin: (name, n, of) => {
      doing = `${n} of ${of}  ${name}`
      if (process.stderr.isTTY) print.progress(doing)
      else print.say(`${doing}: ${promises[name].text} …`)
    },
    onProgress: (text) => print.progress(`${doing}: ${text}`),
  })
    .catch((error: unknown) => {
      if (!ending.aborted) throw error
      throw new CommandError('Stopped. Nothing is left of what was started.', 130)
    })
    .finally(() => print.progress())
  const broken = proofs.filter(({ holds }) => holds === false)
  if (print.isJson) await print.json({ ok: broken.length === 0, promises: proofs })
  else {
    const rows = proofs.map((proof) => [proof.name, stateOf(proof), figureOf(proof), promises[proof.name].text])
    await print.table(
      [{ head: 'PROMISE' }, { head: '' }, { head: 'FIGURE', mayShrink: true }, { head: 'WHAT IT SAYS', dropRank: 1 }],
      rows,
    )
    for (const { name, why = '' } of broken) print.say(`${name} is broken: ${why}`)
    print.say(sumOf(proofs))
  }
  return broken.length === 0 ? 0 : exitCodes.refused
}

function stateOf({ holds }: Proof): string {
  return holds === null ? 'skipped' : holds ? 'holds' : 'broken'
}

function figureOf({ holds, figure, why = '' }: Proof): string {
  return holds === null ? oneLine(why) : figure
}

function sumOf(proofs: Proof[]): string {
  const count = (state: boolean | null) => proofs.filter(({ holds }) => holds === state).length
  const skipped = count(null) === 0 ? '' : `, ${count(null)} could not be tried here`
  const held = `${count(true)} of ${countedText(proofs.length, 'promise')} held${skipped}`
  return count(false) === 0 ? `${held}.` : `${held}, ${count(false)} broken.`
}
