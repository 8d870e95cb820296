// Machines of a cluster, one real daemon each, as many in a process as it is asked for. The first can send in a workspace at a steady pace, or
// note the time of each message until it was taken in here.

import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/wire'
import { Daemon } from 'agent-relay/dist/daemon/daemon.js'
import { serve } from './serve.ts'

export interface MachineQuestion {
  /** Starts another machine, with a workspace of its own. */
  start?: { dataDir: string; project: string }
  register?: { workspace: string; name: string }
  /** So many, evenly over the time. Answers how long each took until it was acknowledged. */
  send?: { workspace: string; by: string; to: string; count: number; ms: number }
  /** The times of the last `count` messages, once that many have come. They are noted from the first question on. */
  taken?: { workspace: string; count: number }
}

const daemons: Daemon[] = []
const ids = makeIds()
let tookMs: number[] | undefined
const bodyBytes = 200
const sentAt = 'bench '

/** CLOCK_MONOTONIC, the same in every process of the machine. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const opened = async (workspace: string) => (await (daemons[0] as Daemon).open(workspace)).workspace

async function start({ dataDir, project }: { dataDir: string; project: string }): Promise<void> {
  const daemon = await Daemon.start({
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    onTrouble: (error) => process.stderr.write(`${error.message}\n`),
    onStop: () => process.exit(1),
  })
  if (!daemon) throw new Error('another daemon has this folder')
  daemons.push(daemon)
  await daemon.open(project)
}

async function register({ workspace, name }: { workspace: string; name: string }): Promise<void> {
  const credentials = { proven: false, isHolder: false, mayRetake: true, tokenHash: name }
  const { engine } = await opened(workspace)
  const input = { name, strict: true, ...credentials }
  const reply = await engine.submit({ rule: 'agent.register', by: name, cause: ids('c'), input })
  if ('refusal' in reply) throw new Error(reply.refusal.code)
}

async function send({ workspace, by, to, count, ms }: NonNullable<MachineQuestion['send']>): Promise<number[]> {
  const { engine } = await opened(workspace)
  const sends: Promise<number>[] = []
  const from = nowMs()
  for (let i = 0; i < count; i++) {
    const wait = from + (i * ms) / count - nowMs()
    if (wait > 0) await pause(wait)
    // The entry that the other machine takes in names its cause.
    const at = nowMs()
    const input = { to, body: 'x'.repeat(bodyBytes) }
    const sent = engine.submit({ rule: 'message.send', by, cause: `${sentAt}${at}`, input })
    sends.push(sent.then(() => nowMs() - at))
  }
  return Promise.all(sends)
}

async function taken({ workspace, count }: { workspace: string; count: number }): Promise<number[]> {
  const { hub } = await opened(workspace)
  if (!tookMs) {
    tookMs = []
    hub.listen((entries) => {
      for (const { cause } of entries)
        if (cause.startsWith(sentAt)) tookMs?.push(nowMs() - Number(cause.slice(sentAt.length)))
    })
  }
  while (tookMs.length < count) await pause(20)
  return tookMs.splice(0)
}

process.once('SIGTERM', () => Promise.all(daemons.map((each) => each.stop())).then(() => process.exit(0)))

serve((question: MachineQuestion) => {
  if (question.start) return start(question.start)
  if (question.register) return register(question.register)
  return question.send ? send(question.send) : question.taken && taken(question.taken)
})
