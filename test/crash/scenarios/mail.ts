// Messages into workers that print, that turn busy in the middle, and that open dialogs: each is submitted once, whole, and none is mixed with another.

import { setTimeout as sleep } from 'node:timers/promises'
import { WorkerWorld } from '../../../packages/relay/tests/supervisor/worker-world.ts'
import { guardMs } from '../../guard.ts'
import { until } from '../../until.ts'

/** A person's: between two looks, and from seeing a dialog to answering it. */
const [lookMs, thinkMs] = [50, 150]

export interface MailFigures {
  sent: number
  pastes: number
  dialogs: number
  faults: string[]
  ms: number
}

/** `count` messages over some workers, at uneven times; every so often one that makes its reader print or open a dialog. */
export async function typeMail(count: number): Promise<MailFigures> {
  const world = await WorkerWorld.start()
  const from = performance.now()
  const names = ['M0', 'M1']
  try {
    await Promise.all(names.map((name) => world.hire(name)))
    const sent: { id: string; to: string; body: string }[] = []
    let isSending = true
    const answering = answerDialogs(world, names, () => isSending)
    for (let i = 0; i < count; i++) {
      const to = names[i % names.length] as string
      const wish = i % 50 === 12 ? ' dialog' : i % 3 === 0 ? ' busy 40' : ''
      const body = `begin-${i} ${'x'.repeat((i * 37) % 900)}\nline two\tof ${i}${wish} end-${i}`
      sent.push({ to, body, id: (await world.lead.call('message.send', { to, body })).id })
      // In bursts and one by one.
      if (i % 10 < 6) await sleep((i * 37) % 400)
    }
    const isDone = ({ to, id }: { to: string; id: string }) =>
      world.submitted(to).some((text) => text.includes(`[${id}]`))
    await until(() => sent.every(isDone), Math.max(1, count / 50) * guardMs).catch(() => {})
    isSending = false
    const dialogs = await answering
    const faults = [...findFaults(world, sent), ...world.troubles.map(String)]
    const pastes = names.reduce((total, name) => total + world.submitted(name).length, 0)
    return { sent: count, pastes, dialogs, faults, ms: Math.round(performance.now() - from) }
  } finally {
    await world.stop()
  }
}

/** A person who answers each dialog after a while. */
async function answerDialogs(world: WorkerWorld, names: string[], isGoing: () => boolean): Promise<number> {
  let answered = 0
  while (isGoing()) {
    for (const name of names) {
      if ((await world.status(name)) !== 'blocked') continue
      await sleep(thinkMs)
      await world.types(name, 'y')
      answered++
      await until(async () => (await world.status(name)) !== 'blocked')
    }
    await sleep(lookMs)
  }
  return answered
}

const block =
  /^<system-reminder>\n(?:Relay message from Lead \[m_\w+\]: begin-(\d+) x*\n {2}line two\tof \1(?: dialog| busy 40)? end-\1\n)+Answer with mcp__agent-relay__relay_send\(to="Lead"\)\.\n<\/system-reminder>$/

function findFaults(world: WorkerWorld, sent: { id: string; to: string; body: string }[]): string[] {
  const faults: string[] = []
  for (const name of new Set(sent.map(({ to }) => to))) {
    const texts = world.submitted(name)
    for (const text of texts)
      if (!block.test(text)) faults.push(`${name} was given: ${JSON.stringify(text).slice(0, 300)}`)
    for (const { id, body } of sent.filter(({ to }) => to === name)) {
      const times = texts.filter((text) => text.includes(`[${id}]: ${body.replaceAll('\n', '\n  ')}\n`)).length
      if (times !== 1) faults.push(`${id} was submitted ${times} times to ${name}`)
    }
    const log = world.log(name)
    for (const { event, char } of log)
      if (event === 'submitted-while-busy' || event === 'key' || (event === 'dialog-key' && char !== 'y'))
        faults.push(`${name}: ${event} ${JSON.stringify(char)}`)
  }
  return faults
}
