// `lift`: several sessions with a role each, and a relay of their own between them. By hand, or in the panes of tmux or kitty.

import { createServer } from 'node:net'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { awaitEnding } from '../ending.ts'
import { banner, blocks, connecting } from '../lift/banner.ts'
import { runPane } from '../lift/pane.ts'
import { isInstalled } from '../lift/panes.ts'
import { findProgram } from '../lift/program.ts'
import { kickoffPrompt } from '../lift/prompts.ts'
import { forget, LiftRelay, newDirectory, portTaken } from '../lift/relay.ts'
import { checkRole, rolesOf } from '../lift/roles.ts'
import { begin, type Plan, play } from '../lift/stage.ts'

export const portDefault = 7331
const cliDefault = 'claude'

export const run: Run = async (invocation) => {
  const { options, print, env } = invocation
  const cwd = projectOf(invocation)
  const { manual, tmux, kitty, port = portDefault, cli = cliDefault, keep = false } = options
  const roles = rolesOf(options.roles)
  if (options.configure || options.unconfigure) return configure(invocation, port)
  if ([manual, tmux, kitty].filter(Boolean).length > 1)
    throw new CommandError('One of --manual, --tmux and --kitty, not several.', exits.usage)
  if (manual || !(tmux || kitty)) return byHand(invocation, roles, port)
  const kind = tmux ? 'tmux' : 'kitty'
  if (!(await isInstalled(kind, kind === 'tmux' ? '-V' : '--version'))) {
    print.say(`${kind} is not installed here: paste the prompts yourself.`)
    return byHand(invocation, roles, port)
  }
  findProgram(cli, cwd, env)
  await checkPort(port)
  const plan: Plan = { kind, roles, port, cli, cwd, isKept: keep, env }
  await begin(plan, print)
}

/** The relay here, and one block to paste for each role. */
async function byHand(invocation: Invocation, roles: string[], port: number): Promise<void> {
  const { options, print } = invocation
  const ending = awaitEnding()
  const directory = newDirectory()
  let relay: LiftRelay | undefined
  try {
    const keepIn = options.keep ? projectOf(invocation) : undefined
    relay = await LiftRelay.start({ roles, port, directory, keepIn }, print)
    const { url, dataDir } = relay
    if (print.isJson) {
      const prompts = Object.fromEntries(roles.map((role) => [role, kickoffPrompt(role, roles, url)]))
      await print.json({ type: 'ready', url, roles, dataDir, prompts })
    } else {
      await print.line(blocks(print, roles, url))
      await print.line(print.typed(connecting(url, Number(new URL(url).port), port === portDefault)))
      await print.line(banner(print, relay, roles, { isKept: options.keep === true }))
    }
    await relay.feed(print, ending)
    if (!print.isJson) print.say('ending the lift.')
  } finally {
    await relay?.stop()
    forget(directory)
  }
}

/** The relay's entry in the project's files, put in or taken out. */
async function configure({ options, env, print, cwd }: Invocation, port: number): Promise<void> {
  const { configureLift, outcomeLines, surroundingsOf, unconfigureLift } = await import('@agent-relay/mcp/install')
  const isOn = options.configure === true
  if (isOn && options.unconfigure) throw new CommandError('Either --configure or --unconfigure.', exits.usage)
  const around = surroundingsOf(env, cwd)
  const outcomes = isOn ? configureLift(port, around) : unconfigureLift(around)
  if (print.isJson) await print.json(outcomes)
  else for (const line of outcomes.flatMap((outcome) => outcomeLines(outcome, isOn))) await print.line(line)
  if (outcomes.length === 0 && !print.isJson) print.say('None of the files of this project has it.')
  process.exitCode = Math.max(0, ...outcomes.map(({ exit }) => exit))
}

export const prompt: Run = async ({ args, options, print }) => {
  const [role] = args as [string]
  const roles = rolesOf(options.roles)
  checkRole(role, roles)
  const text = kickoffPrompt(role, roles, `http://localhost:${options.port ?? portDefault}`)
  await (print.isJson ? print.json({ role, prompt: text }) : print.line(text))
}

/** The relay of a lift in its pane. */
export const stage: Run = async ({ args, print, env }) => play(args[0] as string, print, env)

/** The program of a role in its pane. */
export const pane: Run = async ({ args }) => runPane(args[0] as string)

/** Before anything is opened for a relay that could not start. */
async function checkPort(port: number): Promise<void> {
  if (port === 0) return
  for (const host of ['127.0.0.1', '::1']) {
    const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      const server = createServer()
      server.once('error', resolve)
      server.listen({ port, host, ipv6Only: host === '::1' }, () => server.close(() => resolve(undefined)))
    })
    if (error?.code === 'EADDRINUSE') throw portTaken(port)
  }
}

function projectOf({ cwd }: Invocation): string {
  if (cwd === undefined) throw new CommandError('The working directory is gone. Change to another.', exits.usage)
  return cwd
}
