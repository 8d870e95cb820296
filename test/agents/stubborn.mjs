// A program that does not want to end: it ignores what it can, starts a child in a session of its own, which starts another, and prints their ids.
//
//   node stubborn.mjs LOG [DEPTH]

import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'

const [, script, log, depth = '2'] = process.argv
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGTSTP', 'SIGQUIT']) process.on(signal, () => {})
process.stdin.setRawMode?.(true)
process.stdin.on('data', () => {})
process.stdin.on('error', () => {})
appendFileSync(log, `${process.pid}\n`)
if (Number(depth) > 0)
  // Detached: setsid, out of its parent's group and terminal.
  spawn(process.execPath, [script, log, String(Number(depth) - 1)], { detached: true, stdio: 'ignore' }).unref()
else process.stdout.write('up\n')
setInterval(() => {}, 1_000)
