// The command line of `agent-relay-mcp`: it runs the package's few commands.

import { type ServeOptions, serve } from './serve.cts'
import { version } from './version.cts'

function main(args: string[]): void {
  const [command, ...rest] = args
  if (command === undefined || command === 'help' || args.includes('--help') || args.includes('-h')) return help()
  if (args.includes('--version') || args.includes('-v')) return say(process.stdout, `${version()}\n`)
  if (command === 'serve') return start(rest)
  if (command === 'hook') return startHook(rest)
  if (command === 'install' || command === 'uninstall') return void installer(command, rest)
  refuse(`Unknown command: ${command}\nRun with --help for usage`)
}

/** Loads the help on demand: editors start `serve` and never need it. */
function help(): void {
  const { usage } = require('./usage.cjs') as typeof import('./usage.cts')
  say(process.stdout, usage)
}

function start(args: string[]): void {
  const options: ServeOptions = { start: args.includes('--start') }
  const valued = args.filter((arg) => arg !== '--start')
  const rest = valued.flatMap((arg) => (/^--\w+=/.test(arg) ? [arg.slice(0, arg.indexOf('=')), after(arg)] : [arg]))
  while (rest.length > 0) {
    const [name, value] = rest.splice(0, 2) as [string, string | undefined]
    if (name !== '--tools' && name !== '--project') return refuse(`Unknown option: ${name}\nRun with --help for usage`)
    if (value === undefined) return refuse(`${name} needs a value\nRun with --help for usage`)
    options[name === '--tools' ? 'tools' : 'project'] = value
  }
  void serve(options)
}

/** Loads the installer on demand, and by a path that the bundler does not follow: editors start `serve` and never need it. */
async function installer(command: string, args: string[]): Promise<void> {
  const path = './install/index.js'
  const { main } = (await import(path)) as { main(command: string, args: string[]): Promise<void> }
  await main(command, args)
}

/** Starts a hook. Reports no mistake but a missing event: other mistakes in a hook's command would be reported at every turn. */
function startHook([event, ...rest]: string[]): void {
  if (event === undefined) return refuse('hook needs the name of an event, or wait\nRun with --help for usage')
  if (['PreToolUse', 'BeforeTool', 'preToolUse', 'tool'].includes(event)) {
    const { editHook } = require('./hooks/edit.cjs') as typeof import('./hooks/edit.cts')
    return void editHook(event)
  }
  const at = rest.indexOf('--cli')
  const cli = at < 0 ? undefined : rest[at + 1]
  if (event === 'PermissionRequest') {
    const { permissionHook } = require('./hooks/permission.cjs') as typeof import('./hooks/permission.cts')
    return void permissionHook(cli)
  }
  if (event === 'doing') {
    const { doingHook } = require('./hooks/doing.cjs') as typeof import('./hooks/doing.cts')
    return void doingHook()
  }
  const { mailHook } = require('./hooks/mail.cjs') as typeof import('./hooks/mail.cts')
  void mailHook(event, cli)
}

function after(arg: string): string {
  return arg.slice(arg.indexOf('=') + 1)
}

function say(stream: NodeJS.WriteStream, text: string): void {
  stream.write(text)
}

function refuse(text: string): void {
  say(process.stderr, `${text}\n`)
  process.exitCode = 1
}

main(process.argv.slice(2))
