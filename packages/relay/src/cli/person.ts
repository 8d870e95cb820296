// Proves to the daemon that a person runs this command, for operations that only a person may use: the daemon checks the process's place in the process tree
// (broker/sessions/person.ts).

import { type RelayClient, RelayError } from '@agent-relay/sdk'
import { controlSocketPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { type Link, socketConnector, type Welcome } from '@agent-relay/sdk/wire'
import { nextCommandId, tryConnectControl } from './control-socket.ts'

/** The command line, which becomes the process's title if that was only `node`: in a list of processes it tells a person what runs. */
const ownTitle = ['agent-relay', ...process.argv.slice(2)].join(' ')
const isBare = /(?:^|\/)node$/

/** Runs `work` while this process proves to the daemon that it is the one at the other end of the connection. */
export async function withProcessProof<T>(
  { client, welcome }: { client?: RelayClient; welcome: Welcome },
  work: () => Promise<T>,
): Promise<T> {
  // Imported here and not above: it loads Node's cryptography, which most commands do not need.
  const { proofTitle } = await import('../machine/process-tree.ts')
  const before = isBare.test(process.title) ? ownTitle : process.title
  const prove = ({ session }: Welcome) => {
    process.title = proofTitle(session)
  }
  prove(welcome)
  client?.on('ready', prove)
  try {
    return await work()
  } finally {
    client?.off('ready', prove)
    process.title = before
  }
}

/** Runs `work` with a connection to the control socket on which this process proves that a person runs it. */
export async function controlAsPerson<T>(env: Env, work: (link: Link) => Promise<T>): Promise<T> {
  const link = await socketConnector(controlSocketPath(dataDir(env), env))({ process: process.pid })
  return withProcessProof(link, () => work(link)).finally(() => link.close())
}

/**
 * Throws if an agent runs this command, or may run it. With `script`, a process without a terminal is accepted too, if no agent has started it. Without a
 * daemon no agent is connected, so nothing is checked.
 */
export async function requirePerson(env: Env, { script }: { script?: boolean } = {}): Promise<void> {
  const link = await tryConnectControl(env)
  if (!link) return
  await link.close()
  await controlAsPerson(env, (own) => own.call('daemon.person', { script }, nextCommandId('c'))).catch((error) => {
    // An older daemon does not know this operation: the check is left out.
    if (!(error instanceof RelayError) || error.code !== 'operation.unknown') throw error
  })
}
