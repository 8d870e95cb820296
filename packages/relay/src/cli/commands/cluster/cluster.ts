// `cluster status`, and the group of commands for a cluster: the PostgreSQL database with the journals of shared workspaces.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { type ClusterStatus, writeGuaranteeText } from '../../../cluster/postgres/status.ts'
import { troubleTexts } from '../../../core/shared-trouble.ts'
import { clusterAddressText } from '../../../machine/cluster-file.ts'
import type { CliCommand, CommandContext, NamedCommand } from '../../command.ts'
import { listWorkspaces, tryWithControl } from '../../control-socket.ts'
import { countedText, oneLine } from '../../text.ts'
import { init } from './init.ts'
import { clusterStatus, machineText } from './machine-text.ts'
import { raise } from './raise.ts'
import { reconcile } from './reconcile.ts'
import { requireMembership } from './server.ts'

const status: NamedCommand = {
  name: 'status',
  text: 'the cluster of this machine: its server, standbys, machines and workspaces, and which failures lose nothing',
  isDefault: true,
  examples: ['agent-relay cluster status', 'agent-relay cluster status --json'],
  actsForNoAgent: true,
  run,
}

export const cluster: CliCommand = { commands: [status, init, raise, reconcile] }

async function run({ env, print }: CommandContext): Promise<void> {
  const place = requireMembership(dataDir(env))
  const found = await clusterStatus(place)
  const promise = writeGuaranteeText(found)
  if (print.isJson)
    return void (await print.json({ cluster: clusterAddressText(place), machine: place.machine, promise, ...found }))
  await print.table([{ head: '' }, { head: '', mayShrink: true }], statusRows(found, place))
  print.say('')
  await print.line(promise)
  for (const text of await troubles(env)) await print.line(oneLine(text))
}

/** Returns what is wrong with the shared workspaces that the daemon of this machine has open. */
async function troubles(env: CommandContext['env']): Promise<string[]> {
  return ((await tryWithControl(env, listWorkspaces)) ?? []).flatMap(troubleTexts)
}

function statusRows(
  found: ClusterStatus,
  place: Parameters<typeof clusterAddressText>[0] & { machine: string },
): string[][] {
  const { connections, machines, workspaces, standbys = [] } = found
  const others = standbys.map(({ name, kind, behindBytes }) => [
    'standby',
    oneLine(
      `${name || 'without a name'}: ${kindText(kind)}${behindBytes === undefined ? '' : `, ${behindBytes} bytes behind`}`,
    ),
  ])
  return [
    ['cluster', `${clusterAddressText(place)}, PostgreSQL ${oneLine(found.serverVersion)}, schema ${found.schema}`],
    ['server', found.isPrimary ? 'primary' : 'standby: it accepts no writes'],
    ...(others.length > 0 ? others : [['standby', found.standbys ? 'none' : 'not known']]),
    ['connections', `${connections.all} of ${connections.max}, ${connections.ours} of them from machines`],
    ...machines.map((machine) => ['machine', oneLine(`${machine.name}: ${machineText(machine, place.machine)}`)]),
    ...workspaces.map(({ name, entries, isMoving }) => [
      'workspace',
      `${oneLine(name)}: ${isMoving ? 'being copied' : countedText(entries, 'entry')}`,
    ]),
  ]
}

function kindText(kind: string): string {
  return kind === 'sync' || kind === 'quorum' ? 'synchronous' : 'not synchronous'
}
