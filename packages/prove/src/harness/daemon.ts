// Runs the daemon whose launcher file is the first argument, as `agent-relay daemon start` does, with one addition: the daemon ends when the process that
// started it ends, in whatever way.

import { pathToFileURL } from 'node:url'

process.stdin.on('end', () => process.exit(1)).resume()
process.stdin.unref()
const [, , launcher = '', ...args] = process.argv
// Without further arguments, the daemon serves only its sockets and no HTTP.
const http = args.length > 0 ? args : ['--no-http']
process.argv.splice(1, process.argv.length, 'agent-relay', 'daemon', 'run', ...http)
await import(pathToFileURL(launcher).href)
