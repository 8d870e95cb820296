// `status`: prints a summary of one workspace and of the daemon that serves it.

import { uptimeText } from '@agent-relay/sdk/internal/client'
import { sizeText } from '@agent-relay/sdk/internal/size-text'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import type { CliCommand, CommandContext } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { countedText, oneLine, withTilde } from '../../text.ts'
import { retentionText } from './policy.ts'

export const status: CliCommand = {
  examples: ['agent-relay status', 'agent-relay status --project frontend --json'],
  run,
}

async function run(context: CommandContext): Promise<void> {
  const { env, print } = context
  await withClient(context, 'anyone', async ({ client }) => {
    const status = await client.call('workspace.status', {})
    if (print.isJson) return void (await print.json(status))
    const { workspace, daemonVersion, uptimeMs, residentMb, lagMs, agents, sessions, messages, seq, socketPath } =
      status
    await print.facts([
      ['workspace', workspace],
      ['daemon', `agent-relay ${oneLine(daemonVersion)}, up ${uptimeText(uptimeMs)}`],
      ['load', `${residentMb} MB, event loop late by ${lagMs.p50} ms (p50), ${lagMs.p99} ms (p99)`],
      // One is subtracted for this command's own connection.
      ['agents', `${agents} known, ${countedText(sessions - 1, 'other connection')}`],
      ['messages', `${messages}, ${countedText(seq, 'entry')} in the journal`],
      ...(status.queued === undefined
        ? []
        : [['outbox', `${countedText(status.queued, 'message')} not sent yet: agent-relay outbox`]]),
      ...(status.bytes === undefined ? [] : [['size', sizesText(status.bytes)]]),
      ...(status.keepMs === undefined ? [] : [['keep', retentionText(status.keepMs)]]),
      ['socket', withTilde(oneLine(socketPath), env.HOME)],
      ...(status.agent === undefined ? [] : [['you', oneLine(status.agent)]]),
    ])
  })
}

function sizesText(bytes: NonNullable<OutputOf<'workspace.status'>['bytes']>): string {
  return Object.entries(bytes)
    .map(([file, size]) => `${file} ${sizeText(size)}`)
    .join(', ')
}
