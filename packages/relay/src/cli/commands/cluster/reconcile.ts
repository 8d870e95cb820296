// `cluster reconcile`: after a failover that lost acknowledged entries, this machine writes the lost entries that it has into the cluster again.

import type { OutputOf } from '@agent-relay/sdk/protocol'
import type { Link } from '@agent-relay/sdk/wire'
import { type CommandContext, CommandError, type NamedCommand } from '../../command.ts'
import { withDaemon } from '../../connection.ts'
import { daemonStatus, nextCommandId } from '../../control-socket.ts'
import { type CommandFailure, describeFailure } from '../../exit.ts'
import { forceMoveOption } from '../../options.ts'
import { requirePerson } from '../../person.ts'
import type { Printer } from '../../print.ts'
import { countedText, oneLine } from '../../text.ts'

type Reconciled = OutputOf<'workspace.reconcile'>

const reconcileOptions = { force: forceMoveOption }

export const reconcile: NamedCommand<typeof reconcileOptions> = {
  name: 'reconcile',
  args: '[workspace]',
  argumentKind: 'projects',
  text: 'after the shared database has lost acknowledged entries: store those of this machine again, in one workspace or in all that need it',
  options: reconcileOptions,
  examples: ['agent-relay cluster reconcile', 'agent-relay cluster reconcile frontend'],
  actsForNoAgent: true,
  run,
}

const entries = (count: number) => countedText(count, 'entry')

async function run({ args, options, env, print }: CommandContext<typeof reconcileOptions>): Promise<void> {
  await requirePerson(env)
  await withDaemon({ env, print }, async (link) => {
    const ask = (workspace: string) => {
      const asked = link.call('workspace.reconcile', { workspace, force: options.force }, nextCommandId('c'))
      return print.during(`reconciling ${oneLine(workspace)}`, asked, () => progress(link, workspace))
    }
    const [workspace] = args
    if (workspace === undefined) return await runAll(link, ask, print)
    const done = await ask(workspace)
    if (print.isJson) await print.json(done)
    else await tell(print, done)
  })
}

/** Reconciles every shared workspace. If one is refused, for example because somebody is connected to it, the others are reconciled all the same. */
async function runAll(link: Link, ask: (workspace: string) => Promise<Reconciled>, print: Printer): Promise<void> {
  const { workspaces } = await daemonStatus(link)
  const all: Reconciled[] = []
  const refused: (CommandFailure & { name: string })[] = []
  for (const { name } of workspaces.filter(({ shared }) => shared))
    try {
      const done = await ask(name)
      all.push(done)
      if (!print.isJson) await tell(print, done)
    } catch (error) {
      refused.push({ name, ...(await describeFailure(error)) })
    }
  if (print.isJson) {
    const errors = refused.map(({ name, code, text }) => ({ name, error: { code, message: print.typed(text) } }))
    await print.json({ workspaces: all, refused: errors })
  } else if (all.length + refused.length === 0) await print.line('This machine has no shared workspace.')
  const [first] = refused
  if (!first) return
  const texts = refused.map(({ name, text }) => `${oneLine(name)}: ${text}`)
  throw new CommandError(texts.join('\n'), first.exit, { isPrintedAsJson: true })
}

async function progress(link: Link, workspace: string): Promise<string | undefined> {
  const { workspaces } = await daemonStatus(link)
  const found = workspaces.find(({ name }) => name === workspace)?.reconciling
  return found && `${found.done} of ${entries(found.of)}`
}

async function tell(print: Printer, { name, lost, restored, others, left, kept }: Reconciled): Promise<void> {
  const workspace = oneLine(name)
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
}
