// What `agent-relay-mcp` runs: reads the command line, and knows the few commands there are.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ServeOptions, serve } from './serve.cts'

const usage = `@agent-relay/mcp - the MCP server of Agent Relay: AI agents talk to each other

Usage:
  npx @agent-relay/mcp <command> [options]

Commands:
  serve       Run the MCP server on stdin and stdout (editors and CLIs start this)
  install     Add the server to your editors and CLIs
  uninstall   Take it out again; every other byte of their files stays
  hook        Hand waiting messages to an agent: what its CLI runs as a hook (see docs/how-to/add-a-cli.md)

Install options:
  -e, --editor <name>   Editor to configure: claude, claude-desktop, cursor, vscode, windsurf, zed, codex, gemini,
                        opencode, droid, copilot, qwen, auto (those that are found, the default) or all
  -g, --global          Install globally, for the user (the default)
  --project             Install into the files of the project in this directory
  --workspace <key>     Bind it to the workspace of this key; the key itself is not written
  --hooks               Also add hooks to Claude Code, Codex and Gemini CLI that hand over waiting messages
  --dry-run             Change nothing, show a diff
  --yes                 Ask nothing (nothing is ever asked)
  --json                The outcome for programs

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
  npx @agent-relay/mcp install                    # Auto-detect editor
  npx @agent-relay/mcp install --editor claude    # Claude Code only
  npx @agent-relay/mcp install --editor cursor    # Cursor only
  npx @agent-relay/mcp serve                      # Run server (for editors)
  npx @agent-relay/mcp serve --project frontend
`

function main(args: string[]): void {
  const [command, ...rest] = args
  if (command === undefined || command === 'help' || args.includes('--help') || args.includes('-h'))
    return say(process.stdout, usage)
  if (command === '--version' || command === '-v') return say(process.stdout, `${version()}\n`)
  if (command === 'serve') return start(rest)
  if (command === 'hook') return startHook(rest)
  if (command === 'install' || command === 'uninstall') return void installer(command, rest)
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

/** Loaded on demand, and by a name that the join does not follow: editors start `serve` and never need it. */
async function installer(command: string, args: string[]): Promise<void> {
  const path = './install/main.js'
  const { main } = (await import(path)) as { main(command: string, args: string[]): Promise<void> }
  await main(command, args)
}

/** A mistake in a hook's command line is told too, but only a missing event: everything else would be told at every turn. */
function startHook([event, ...rest]: string[]): void {
  if (event === undefined) return refuse('hook needs the name of an event, or wait\nRun with --help for usage')
  const { hook } = require('./hook.cjs') as typeof import('./hook.cts')
  const at = rest.indexOf('--cli')
  void hook(event, at < 0 ? undefined : rest[at + 1])
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
