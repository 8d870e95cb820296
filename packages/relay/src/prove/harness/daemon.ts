// Runs the daemon as `agent-relay daemon start` does, with one addition: it ends when the process that started it ends, however that happens.

process.stdin.on('end', () => process.exit(1)).resume()
process.stdin.unref()
// Without arguments, the daemon serves its sockets and no HTTP.
const http = process.argv.length > 2 ? [] : ['--no-http']
process.argv.splice(1, 1, 'agent-relay', 'daemon', 'run', ...http)
await import(new URL('../../../bin/agent-relay.cjs', import.meta.url).href)
