// One machine of a shared workspace under load, as a process that can be killed or stopped: its agents send without pause, and it prints each
// acknowledgement. It ends when the test ends, however that happens.
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeIds } from '@agent-relay/sdk/protocol'
import { EntryHub } from '../../../packages/relay/dist/broker/hub.js'
import { Follower } from '../../../packages/relay/dist/cluster/follower.js'
import { beginMoveIn, finishMoveIn } from '../../../packages/relay/dist/cluster/postgres/moving.js'
import { PostgresCluster } from '../../../packages/relay/dist/cluster/postgres/postgres-cluster.js'
import { Replica } from '../../../packages/relay/dist/cluster/replica.js'
import { SharedEngine } from '../../../packages/relay/dist/cluster/shared-engine.js'
import { systemClock } from '../../../packages/relay/dist/machine/clock.js'
import { Store } from '../../../packages/relay/dist/store/store.js'

const { address, workspace, machine, path, everybody, agents, inFlight } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${line}\n`)
const onTrouble = (error) => say(`trouble ${error.stack}`)

const cluster = new PostgresCluster(address)
// Whoever comes first makes it.
const begun = await beginMoveIn(cluster, workspace, 'team').catch(() => {})
if (begun === 'ok') await finishMoveIn(cluster, workspace, 0).catch(() => {})
const sound = cluster.journal(workspace)
let stopsInTurn = false
const journal = {
  append: (append) => {
    if (!stopsInTurn || append.drafts.length === 0) return sound.append(append)
    stopsInTurn = false
    return sound.appendInTurn(append.position, () => {
      // While it holds the lock. The test lets it go on.
      process.kill(process.pid, 'SIGSTOP')
      return append
    })
  },
  appendInTurn: (known, decide) => sound.appendInTurn(known, decide),
  follow: (known, limit) => sound.follow(known, limit),
  payload: (seq) => sound.payload(seq),
  onHint: (listener) => sound.onHint(listener),
}
const store = new Store(path)
const [clock, replica, ids] = [systemClock, new Replica(store, new EntryHub(onTrouble)), makeIds()]
const world = { machine, isLive: () => false, liveSession: () => undefined }
const engine = new SharedEngine({ workspace: 'team', machine, replica, journal, clock, ids, world, onTrouble })
const onStopped = (stopped) => {
  say(`stopped ${stopped.kind}`)
  engine.stop(stopped)
}
const follower = new Follower({ replica, journal, clock, onTrouble, onStopped })

let isOver = false
const passing = ['cluster.unreachable', 'cluster.unknown']

/** An honest sender: where the answer did not come it asks again, with the same id. */
async function give(rule, by, input, cause = `${machine} ${ids('c')}`) {
  for (;;) {
    const reply = await engine.submit({ rule, by, input, cause, digest: () => JSON.stringify(input) })
    if (!('refusal' in reply) || !passing.includes(reply.refusal.code) || isOver) return { ...reply, cause }
    await sleep(50)
  }
}

async function send(i) {
  for (let k = i; !isOver; k++) {
    const by = agents[k % agents.length]
    const to = k % 5 === 0 ? '#general' : everybody[(k * 7 + i) % everybody.length]
    if (to === by) continue
    const from = performance.now()
    const reply = await give('message.send', by, { to, body: `${k} of ${by}` })
    const ms = Math.round(performance.now() - from)
    if ('refusal' in reply) say(`refused ${reply.refusal.code}`)
    else say(`stored ${JSON.stringify([by, reply.cause, reply.seq, ms])}`)
    if ('refusal' in reply && !passing.includes(reply.refusal.code)) return
  }
}

const orders = {
  begin: async () => {
    await give('workspace.begin', 'agent-relay', { id: workspace, keyHash: 'k' })
    say('ready')
  },
  register: async () => {
    for (const name of agents) {
      const credentials = { proven: false, isHolder: false, mayRetake: true, tokenHash: `hash of ${name}` }
      const reply = await give('agent.register', name, { name, strict: true, ...credentials })
      if ('refusal' in reply) say(`trouble ${reply.refusal.code}`)
    }
    say('ready')
  },
  load: () => Promise.all(Array.from({ length: inFlight }, (_, i) => send(i))),
  'stop-in-turn': () => {
    stopsInTurn = true
  },
  end: async () => {
    isOver = true
    while (!engine.isIdle) await sleep(10)
    await follower.catchUp().catch(onTrouble)
    say(`over ${store.journal.lastSeq}`)
  },
  exit: () => process.exit(0),
}
createInterface({ input: process.stdin })
  .on('line', (line) => void orders[line]?.())
  .on('close', () => process.exit(1))
say('ready')
