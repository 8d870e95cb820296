// `claims`: lists the files that agents are editing, and claims or drops some by hand.

import { relative } from 'node:path'
import type { Claim } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/wire'
import { type CliCommand, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../command.ts'
import { withClient } from '../connection.ts'
import { ageText, oneLine } from '../text.ts'

const minutes = limits.claimMs / 60_000

const list: NamedCommand = {
  name: 'list',
  text: 'the claimed files, by agent',
  isDefault: true,
  examples: ['agent-relay claims', 'agent-relay claims --json'],
  run: runList,
}

async function runList(context: CommandContext): Promise<void> {
  const { print } = context
  await withClient(context, 'anyone', async ({ client }) => {
    const { claims } = await client.call('claim.list', {})
    if (print.isJson) return void (await print.json({ claims }))
    if (claims.length === 0) return print.say('No file is claimed.')
    await print.table(
      [{ head: 'AGENT' }, { head: 'FILE' }, { head: 'SINCE' }, { head: 'ENDS' }, { head: 'BY' }, { head: 'TASK' }],
      claims.map((claim) => [
        oneLine(claim.agent),
        oneLine(shown(claim, context.cwd)),
        ageText(claim.since),
        `in ${Math.max(1, Math.ceil((Date.parse(claim.until) - Date.now()) / 60_000))} min`,
        claim.how,
        oneLine(claim.task ?? '').slice(0, 60),
      ]),
    )
  })
}

/** Returns the path of a claimed file: relative to `cwd` if it lies below, else absolute. */
function shown({ root, file }: Claim, cwd: string | undefined): string {
  const way = cwd === undefined ? '..' : relative(cwd, `${root}/${file}`)
  return way.startsWith('..') ? `${root}/${file}` : way
}

const add = claimCommand(
  'add',
  'claim.add',
  `claim files by hand for ${minutes} minutes: edits by agents other than you are denied`,
  (file, { agent }) => `${agent} has claimed ${file} for ${minutes} minutes.`,
)
const drop = claimCommand(
  'drop',
  'claim.drop',
  'end claims; a person may end those of anybody',
  (file, { agent }) => `The claim of ${agent} on ${file} is over.`,
)

export const claims: CliCommand = {
  examples: ['agent-relay claims', 'agent-relay claims add src/a.ts src/b.ts', 'agent-relay claims drop src/a.ts'],
  commands: [list, add, drop],
}

function claimCommand(
  name: string,
  operation: 'claim.add' | 'claim.drop',
  text: string,
  said: (file: string, claim: Claim) => string,
): NamedCommand {
  return {
    name,
    args: '<file...>',
    text,
    examples: [`agent-relay claims ${name} src/a.ts`],
    async run(context) {
      const { args, cwd, print } = context
      if (cwd === undefined) throw new CommandError('This directory is gone. Go to a checkout first.', exitCodes.usage)
      await withClient(context, 'agent', async ({ client }) => {
        const { claims } = await client.call(operation, { cwd, files: args })
        if (print.isJson) return void (await print.json({ claims }))
        for (const claim of claims) await print.line(said(oneLine(shown(claim, cwd)), claim))
      })
    },
  }
}
