// The daemon as `agent-relay daemon start` starts it, with one addition: the end of the test, however it comes about, is its end too.
process.stdin.on('end', () => process.exit(1)).resume()
process.stdin.unref?.()
process.argv.splice(1, 1, 'agent-relay', 'daemon', 'run', '--no-http')
await import('../../../packages/relay/bin/agent-relay.cjs')
