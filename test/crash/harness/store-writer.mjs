// A process that does nothing but store: commits of one to five entries without pause. It prints the number of the last entry after each commit.
import { writeSync } from 'node:fs'
import { Store } from '../../../packages/relay/dist/store/store.js'

let count = 0
const cause = () => `${process.pid} ${Date.now()} ${count++}`
const store = new Store(process.argv[2])
const append = (facts, rule) => store.append({ at: Date.now(), by: 'ada', cause: cause(), facts, rule, outcome: {} })
if (store.meta('id') === undefined)
  store.transact(() => void append([{ type: 'workspace.began', id: 'w_writer', keyHash: 'h' }], 'workspace.begin'))
for (let commit = 0; ; commit++) {
  store.transact(() => {
    for (let n = 0; n <= commit % 5; n++) append([], 'message.send')
  })
  writeSync(1, `${store.journal.lastSeq}\n`)
}
