// What `agent-relay-mcp` runs: reads the command line, and knows the few commands there are.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ServeOptions, serve } from './serve.cts'

const usage = `@agent-relay/mcp - the MCP server of Agent Relay: AI agents talk to each other

Usage:
  npx @agent-relay/mcp <command> [options]

Commands:
  serve       Run the MCP server on stdin and stdout (editors and CLIs start this)
  install     Add the server to your editors and CLIs (not in this version yet)

Serve options:
  --tools <names>    Toolsets to offer, separated by commas (default: relay, or RELAY_TOOLS)
  --project <name>   The workspace (default: RELAY_PROJECT, .relay/config.json, the one that runs)

Options:
  -h, --help         Show this help
  -v, --version      Print the version

Environment:
  RELAY_AGENT_NAME   The agent's name (default: made from the name of the editor or CLI)
  RELAY_SOCKET, RELAY_PROJECT, RELAY_AGENT_TOKEN, RELAY_AGENT_TYPE, RELAY_STRICT_AGENT_NAME, RELAY_TOOLS, RELAY_PUSH

Examples:
  npx @agent-relay/mcp serve
  npx @agent-relay/mcp serve --project frontend
`

function main(args: string[]): void {
  const [command, ...rest] = args
  if (command === undefined || args.includes('--help') || args.includes('-h')) return say(process.stdout, usage)
  if (command === '--version' || command === '-v') return say(process.stdout, `${version()}\n`)
  if (command === 'serve') return start(rest)
  if (command === 'install') return refuse('agent-relay-mcp install is not part of this version yet.')
  refuse(`Unknown command: ${command}\nRun with --help for usage`)
}

function start(args: string[]): void {
  const options: ServeOptions = {}
  const rest = args.flatMap((arg) => (/^--\w+=/.test(arg) ? [arg.slice(0, arg.indexOf('=')), after(arg)] : [arg]))
  while (rest.length > 0) {
    const [name, value] = rest.splice(0, 2) as [string, string | undefined]
    if (name !== '--tools' && name !== '--project') return refuse(`Unknown option: ${name}\nRun with --help for usage`)
    if (value === undefined) return refuse(`${name} needs a value\nRun with --help for usage`)
    options[name === '--tools' ? 'tools' : 'project'] = value
  }
  void serve(options)
}

function after(arg: string): string {
  return arg.slice(arg.indexOf('=') + 1)
}

function version(): string {
  return JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')).version
}

function say(stream: NodeJS.WriteStream, text: string): void {
  stream.write(text)
}

function refuse(text: string): void {
  say(process.stderr, `${text}\n`)
  process.exitCode = 1
}

main(process.argv.slice(2))
