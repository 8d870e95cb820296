// `spend`: the tokens that agents have used, and their cost if the vendor reports it.

import { countText, usdText } from '@agent-relay/sdk/internal/spend-text'
import type { OutputOf, SpendGroup, SpendLine } from '@agent-relay/sdk/protocol'
import type { CliCommand, CliOptions, CommandContext } from '../command.ts'
import { withClient } from '../connection.ts'
import { oneLine } from '../text.ts'

const groups: readonly SpendGroup[] = ['agent', 'run', 'model', 'day']

const spendOptions = {
  by: { flags: '--by <what>', text: 'agent, run, model or day (UTC)', choices: groups },
} satisfies CliOptions

export const spend: CliCommand<typeof spendOptions> = {
  options: spendOptions,
  examples: ['agent-relay spend', 'agent-relay spend --by model', 'agent-relay spend --by day --json'],
  run,
}

async function run(context: CommandContext<typeof spendOptions>): Promise<void> {
  const { options, print } = context
  await withClient(context, 'anyone', async ({ client }) => {
    const answer = await client.call('spend.list', { by: options.by })
    if (print.isJson) return void (await print.json(answer))
    if (answer.spend.length === 0)
      return print.say('No spending is known yet. Runs of a model report it, and so do some agents that work over ACP.')
    await print.table(columnsOf(answer), [
      ...answer.spend.map((line) => row(nameOf(line, answer.by), line, answer)),
      ...(answer.spend.length > 1 ? [row('all', answer.total, answer)] : []),
    ])
  })
}

type Listed = OutputOf<'spend.list'>

/** Returns the columns of the table. Most vendors report no cost, so its column is shown only if a cost is known. */
function columnsOf({ by, total }: Listed) {
  const counts = ['IN', 'CACHED', 'OUT', 'TURNS', ...(total.usd === undefined ? [] : ['COST'])]
  return [{ head: by.toUpperCase(), mayShrink: true }, ...counts.map((head) => ({ head, alignsRight: true }))]
}

function row(name: string, { tokens, usd, turns }: Listed['total'], { total }: Listed): string[] {
  const cost = total.usd === undefined ? [] : [usd === undefined ? '–' : usdText(usd)]
  return [name, countText(tokens.input), countText(tokens.cached), countText(tokens.output), String(turns), ...cost]
}

/** Returns the name of a row. All spend without a run is in one row, and so is all spend of unnamed models. */
function nameOf({ agent, run, model, day }: SpendLine, by: SpendGroup): string {
  if (by === 'run') return run === undefined ? 'no run' : oneLine(`${run} (${agent})`)
  return oneLine((by === 'model' ? model : by === 'day' ? day : agent) ?? 'not known')
}
