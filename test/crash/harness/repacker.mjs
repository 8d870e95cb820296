// A process that does nothing but rewrite a copy of an older database, and prints what came of it. A third path takes what is there afterwards: without
// the log, which has nothing.
import { copyFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repackDatabase } from '../../../packages/relay/dist/daemon/repacking.js'

const [, , kept, path, after] = process.argv
copyFileSync(kept, path)
// The rewriting holds up no daemon that ends, so it does not keep a process alive either.
const alive = setInterval(() => {}, 1_000)
const said = await repackDatabase(path, () => true).then(String, (error) => error.message)
clearInterval(alive)
process.stdout.write(`${said}\n`)
if (after !== undefined)
  for (const name of readdirSync(dirname(path)))
    if (!/-(wal|shm)$/.test(name)) copyFileSync(join(dirname(path), name), join(dirname(after), name))
