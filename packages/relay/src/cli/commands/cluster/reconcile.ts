// `cluster reconcile`: after a failover that lost what was acknowledged, this machine brings back what it has.

import type { Context, NamedCommand } from '../../command.ts'
import { sayVersion } from '../../connection.ts'
import { control, nextId } from '../../control-socket.ts'
import { provePerson } from '../../person.ts'
import { counted } from '../../text.ts'

interface ReconcileOptions {
  force?: boolean
}

export const reconcile: NamedCommand<ReconcileOptions> = {
  name: 'reconcile',
  args: '<workspace>',
  takes: 'projects',
  text: 'the database of a shared workspace has lost what it had acknowledged: bring back what this machine has stored there',
  options: {
    force: {
      flags: '--force',
      text: 'even while agents are connected: their sessions and workers end, and can come back',
    },
  },
  examples: ['agent-relay cluster reconcile frontend'],
  isNobody: true,
  run,
}

const entries = (count: number) => counted(count, 'entry').replace('entrys', 'entries')

async function run({ args, options, env, print }: Context<ReconcileOptions>): Promise<void> {
  const workspace = args[0] as string
  await provePerson(env)
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const asked = link.call('workspace.reconcile', { workspace, force: options.force }, nextId('c'))
    const done = await print.during('reconciling', asked)
    if (print.isJson) return void (await print.json(done))
    const { lost, restored, others, left, kept } = done
    if (kept === undefined && lost === 0)
      return void (await print.line(`The database has all of "${workspace}" that this machine has seen.`))
    await print.line(
      `The database lacked ${entries(lost)} of "${workspace}". This machine has stored ${restored} of them again, and goes on.`,
    )
    if (others > 0)
      print.say(
        `${entries(others)} came from other machines. On each of them: agent-relay cluster reconcile ${workspace}`,
      )
    if (left > 0)
      print.say(
        `${entries(left)} of this machine were not brought back: what programs have done is not done again, and a message to an agent of another ` +
          'machine needs that agent. Once the others have reconciled, this can be run again.',
      )
    if (kept !== undefined) print.say(`The former copy is kept: ${kept}`)
  } finally {
    await link.close()
  }
}
