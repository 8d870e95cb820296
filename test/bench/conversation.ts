// A page of a long conversation beside one of a short conversation: it is read by its index, so its length must not matter.

import { Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { against, type Measure } from './table.ts'

const few = 1_000
const calls = 100
const max = 2

export async function measureConversation(many: number, rounds: number): Promise<Measure[]> {
  const [short, long] = [new Child('million'), new Child('million')]
  // Half of all messages lie in the conversation.
  await short.ask({ build: { dataDir: temporaryFolder(), messages: 2 * few } })
  await long.ask({ build: { dataDir: temporaryFolder(), messages: 2 * many } })
  const [floors, values]: [number[], number[]] = [[], []]
  for (let i = 0; i <= rounds; i++) {
    const [floor, value] = [await short.ask<number>({ list: { calls } }), await long.ask<number>({ list: { calls } })]
    // The first is to warm up.
    if (i > 0) floors.push(floor)
    if (i > 0) values.push(value)
  }
  await Promise.all([short.stop(), long.stop()])
  const measure = `message.list in a conversation of ${many.toLocaleString('en')}, beside ${few.toLocaleString('en')}, p50`
  return [against(measure, { value: median(values), floor: median(floors), unit: 'ms', max })]
}
