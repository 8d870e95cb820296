// Stops, kills and restarts the daemon under MCP pipes and SDK clients with calls in flight: the sessions must come back under their names, and each call must
// run once.

import type { RelayClient } from '@agent-relay/sdk'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { connectClient } from '../harness/clients.ts'
import { MessageHistory, messageBody, type RecordedSend, readStored } from '../harness/history.ts'
import { RawPipe } from '../harness/pipe.ts'
import {
  environmentWithoutRelay,
  inTrial,
  sleep,
  type Trial,
  type TrialOptions,
  trialProject,
} from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'

const callsEach = 4
/** How long a session may take to reconnect before it counts as hung; usually it is back much sooner. */
const backMsMax = waitLimitMs('prove')
const pauseMsMax = 20

export function restartUnderSessions(random: Random, restarts: number, options: TrialOptions) {
  return inTrial(options, async (trial) => {
    let daemon = await trial.startDaemon()
    const history = new MessageHistory()
    const faults: string[] = []
    const [ada, bob] = [await openPipe(trial, 'Ada'), await openPipe(trial, 'Bob')]
    const cat = await connectClient(trial, 'Cat', { faults })
    const dan = await connectClient(trial, 'Dan', { faults })
    dan.on('message', ({ content }) => history.recordShown('Dan', content))
    for (let n = 1; n <= restarts; n++) {
      const calls = Array.from({ length: callsEach }, async () => {
        await sleep(random.below(pauseMsMax))
        await Promise.all([
          sendByPipe(ada, history.recordSend('Ada', 'Bob')),
          sendByClient(cat, history.recordSend('Cat', 'Dan')),
        ])
      })
      await sleep(random.below(pauseMsMax))
      await daemon.end(n % 2 === 0 ? 'SIGTERM' : 'SIGKILL')
      daemon = await trial.startDaemon()
      await Promise.all(calls)
      for (const [pipe, name] of [
        [ada, 'Ada'],
        [bob, 'Bob'],
      ] as const)
        faults.push(...(await waitUntilConnected(trial, pipe, name)))
      trial.reportProgress(`restart ${n} of ${restarts}, ${history.acked} calls answered`)
    }
    await readAll(bob, history)
    await drain(trial, history)
    await cat.disconnect()
    await dan.disconnect()
    const { code } = await daemon.end('SIGTERM')
    if (code !== 0) faults.push(`the last daemon ended with ${code}: ${daemon.errors}`)
    const { messages, integrity } = readStored(trial)
    const { sends, acked, shown } = history
    // Calls that are in flight together on one pipe have no order, so "out of order" is no fault in this trial.
    const found = history.faults(messages).filter((fault) => !fault.includes('out of order'))
    return { restarts, calls: sends.length, acked, shown: shown.length, integrity, faults: [...faults, ...found] }
  })
}

async function openPipe(trial: Trial, name: string): Promise<RawPipe> {
  const { dataDir, relay } = trial
  const env = {
    ...environmentWithoutRelay(),
    HOME: dataDir,
    RELAY_DATA_DIR: dataDir,
    RELAY_PROJECT: trialProject,
    RELAY_AGENT_NAME: name,
  }
  const pipe = new RawPipe([relay.launcher, 'mcp', 'serve'], env, dataDir)
  trial.onDispose(() => pipe.end())
  await pipe.initialize(name)
  await waitUntilConnected(trial, pipe, name)
  return pipe
}

async function sendByPipe(pipe: RawPipe, send: RecordedSend): Promise<void> {
  const text = await pipe.call('relay_send', { to: send.to, message: messageBody(send.from, send.to, send.n) })
  if (text.startsWith('Message sent')) send.outcome = 'acked'
  else if (text.includes('was not carried out')) send.outcome = 'refused'
}

async function sendByClient(client: RelayClient, send: RecordedSend): Promise<void> {
  try {
    await client.send(send.to, messageBody(send.from, send.to, send.n))
    send.outcome = 'acked'
  } catch {
    // The outcome stays unknown: the daemon may have carried out the call.
  }
}

/**
 * Waits until an MCP pipe is connected again; returns a fault if it does not reconnect. A daemon's first session loads the MCP server, which may take longer
 * than a call waits.
 */
async function waitUntilConnected(trial: Trial, pipe: RawPipe, name: string): Promise<string[]> {
  let text = ''
  for (const from = performance.now(); performance.now() - from < backMsMax && !trial.isOver; ) {
    text = await pipe.call('relay_status')
    if (text.includes('Connected: Yes')) break
    await sleep(50)
  }
  return text.includes('Connected: Yes') && new RegExp(`^- Agent Name: ${name}$`, 'm').test(text)
    ? []
    : [`the pipe of ${name} did not come back: ${text.replaceAll('\n', ' ')}`]
}

async function readAll(pipe: RawPipe, history: MessageHistory): Promise<void> {
  for (;;) {
    const bodies = [...(await pipe.call('relay_inbox', { limit: 100 })).matchAll(/\bAda Bob \d+\b/g)]
    if (bodies.length === 0) return
    for (const [body] of bodies) history.recordShown('Bob', body)
  }
}

/** Waits until the receiving client has been shown all messages whose senders got an acknowledgement. */
async function drain(trial: Trial, { sends, shown }: MessageHistory): Promise<void> {
  const due = sends.filter(({ to, outcome }) => to === 'Dan' && outcome === 'acked').length
  const from = performance.now()
  while (shown.filter(({ by }) => by === 'Dan').length < due && performance.now() - from < backMsMax) {
    if (trial.isOver) return
    await sleep(20)
  }
  // Waits a moment, so that messages that were stored without an acknowledgement can be shown too.
  await sleep(300)
}
