// The entry point of the command `agent-relay-mcp`: parses the arguments and starts `serve`, `hook`, `install` or `uninstall`.

import { type ServeOptions, serve } from './serve.cts'
import { version } from './version.cts'

function main(args: string[]): void {
  const [command, ...rest] = args
  if (command === undefined || command === 'help' || args.includes('--help') || args.includes('-h')) return printHelp()
  if (args.includes('--version') || args.includes('-v')) return write(process.stdout, `${version()}\n`)
  if (command === 'serve') return startServer(rest)
  if (command === 'hook') return startHook(rest)
  if (command === 'install' || command === 'uninstall') return void runInstaller(command, rest)
  reportError(`Unknown command: ${command}\nRun with --help for usage`)
}

/** Loads the help text only to print it: editors start `serve`, which never needs it. */
function printHelp(): void {
  const { usage } = require('./usage.cjs') as typeof import('./usage.cts')
  write(process.stdout, usage)
}

function startServer(args: string[]): void {
  const options: ServeOptions = { start: args.includes('--start') }
  const valued = args.filter((arg) => arg !== '--start')
  const rest = valued.flatMap((arg) =>
    /^--\w+=/.test(arg) ? [arg.slice(0, arg.indexOf('=')), valueAfterEquals(arg)] : [arg],
  )
  while (rest.length > 0) {
    const [name, value] = rest.splice(0, 2) as [string, string | undefined]
    if (name !== '--tools' && name !== '--project')
      return reportError(`Unknown option: ${name}\nRun with --help for usage`)
    if (value === undefined) return reportError(`${name} needs a value\nRun with --help for usage`)
    options[name === '--tools' ? 'tools' : 'project'] = value
  }
  void serve(options)
}

/** Loads the installer on demand, and by a path that the bundler does not follow: editors start `serve` and never need it. */
async function runInstaller(command: string, args: string[]): Promise<void> {
  const path = './install/index.js'
  const { main } = (await import(path)) as { main(command: string, args: string[]): Promise<void> }
  await main(command, args)
}

/** Starts a hook. The only mistake that it reports is a missing event name: a CLI runs the hook at every turn, and would show any other error each time. */
function startHook([event, ...rest]: string[]): void {
  if (event === undefined) return reportError('hook needs the name of an event, or wait\nRun with --help for usage')
  if (['PreToolUse', 'BeforeTool', 'preToolUse', 'tool'].includes(event)) {
    const { runEditHook } = require('./hooks/edit.cjs') as typeof import('./hooks/edit.cts')
    return void runEditHook(event)
  }
  const at = rest.indexOf('--cli')
  const cli = at < 0 ? undefined : rest[at + 1]
  if (event === 'PermissionRequest') {
    const { runPermissionHook } = require('./hooks/permission.cjs') as typeof import('./hooks/permission.cts')
    return void runPermissionHook(cli)
  }
  if (event === 'doing') {
    const { runDoingHook } = require('./hooks/doing.cjs') as typeof import('./hooks/doing.cts')
    return void runDoingHook()
  }
  const { runMailHook } = require('./hooks/mail.cjs') as typeof import('./hooks/mail.cts')
  void runMailHook(event, cli)
}

function valueAfterEquals(arg: string): string {
  return arg.slice(arg.indexOf('=') + 1)
}

function write(stream: NodeJS.WriteStream, text: string): void {
  stream.write(text)
}

function reportError(text: string): void {
  write(process.stderr, `${text}\n`)
  process.exitCode = 1
}

main(process.argv.slice(2))
