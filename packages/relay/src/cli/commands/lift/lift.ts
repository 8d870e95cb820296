// `lift`: several sessions with a role each, and a relay of their own between them; started by hand, or in the panes of tmux or kitty. Files that
// load the daemon or the supervisor are imported where they are used, to keep the completion script quick.

import { defaultCli } from '@agent-relay/sdk/internal/clis'
import { loopbackFault } from '../../../machine/http-port.ts'
import { type CliCommand, CommandError, type Context, type ExitCode, exits, type NamedCommand } from '../../command.ts'
import { awaitEnding } from '../../ending.ts'
import { clean } from '../../text.ts'
import { banner, blocks, connecting, typedHere } from './banner.ts'
import { runPane } from './pane.ts'
import { isInstalled } from './panes.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'
import type { Plan } from './window.ts'

const liftPortDefault = 7331

interface LiftOptions {
  manual?: boolean
  tmux?: boolean
  kitty?: boolean
  roles?: string
  port?: number
  cli?: string
  keep?: boolean
  configure?: boolean
  unconfigure?: boolean
}

const prompt: NamedCommand = {
  name: 'prompt',
  args: '<role>',
  text: 'print what a role is told at its start',
  examples: ['agent-relay lift prompt pm', 'agent-relay lift prompt api --roles lead,api,web'],
  actsForNoAgent: true,
  run: printPrompt,
}

const relayPane: NamedCommand = {
  name: 'relay',
  args: '<directory>',
  text: 'be the relay of a lift in its pane (what `lift --tmux` starts)',
  actsForNoAgent: true,
  isHidden: true,
  run: async ({ args, print, env }) => (await import('./window.ts')).runRelayPane(args[0] as string, print, env),
}

const pane: NamedCommand = {
  name: 'pane',
  args: '<file>',
  text: 'be the pane of a role (what the relay of a lift starts)',
  actsForNoAgent: true,
  isHidden: true,
  run: ({ args }) => runPane(args[0] as string),
}

export const lift: CliCommand<LiftOptions> = {
  options: {
    manual: { flags: '--manual', text: 'print the prompts for pasting (the default)' },
    tmux: { flags: '--tmux', text: 'the relay and a pane for each role, in a tmux window' },
    kitty: { flags: '--kitty', text: 'the same in a kitty tab' },
    roles: { flags: '--roles <names>', text: 'the roles (pm,dev-a,dev-b)' },
    port: {
      flags: '--port <n>',
      text: `the port of the relay (${liftPortDefault}); 0 takes a free one`,
      number: [0, 65_535],
    },
    cli: { flags: '--cli <name>', text: `what runs in the panes: a CLI (${defaultCli}) or the path of a program` },
    keep: { flags: '--keep', text: 'keep the messages of this project for its next lift, in the data directory' },
    configure: { flags: '--configure', text: "add the relay to this project's MCP files, and do no more" },
    unconfigure: { flags: '--unconfigure', text: 'take it out of them' },
  },
  examples: [
    'agent-relay lift',
    'agent-relay lift --tmux',
    'agent-relay lift --tmux --roles lead,api,web --cli codex',
    'agent-relay lift --configure',
  ],
  actsForNoAgent: true,
  commands: [prompt, relayPane, pane],
  run,
}

async function run(context: Context<LiftOptions>): Promise<ExitCode> {
  const { options, print, env } = context
  const cwd = projectOf(context)
  const { manual, tmux, kitty, port = liftPortDefault, cli = defaultCli, keep = false } = options
  const { rolesOf } = await import('./roles.ts')
  const roles = rolesOf(options.roles)
  if (options.configure || options.unconfigure) return configure(context, port)
  if ([manual, tmux, kitty].filter(Boolean).length > 1)
    throw new CommandError('Give only one of --manual, --tmux and --kitty.', exits.usage)
  if (manual || !(tmux || kitty)) return byHand(context, roles, port)
  const kind = tmux ? 'tmux' : 'kitty'
  if (!(await isInstalled(kind, kind === 'tmux' ? '-V' : '--version'))) {
    print.say(`${kind} is not installed here: paste the prompts yourself.`)
    return byHand(context, roles, port)
  }
  const { findProgram } = await import('./program.ts')
  findProgram(cli, cwd, env)
  await checkPort(port)
  const plan: Plan = { kind, roles, port, cli, cwd, isKept: keep, env }
  const { openWindow } = await import('./window.ts')
  await openWindow(plan, print)
}

/** Runs the relay here, and prints a prompt to paste for each role. */
async function byHand(context: Context<LiftOptions>, roles: string[], port: number): Promise<void> {
  const { options, print, env } = context
  const ending = awaitEnding()
  const { forget, LiftRelay, newDirectory } = await import('./relay.ts')
  const directory = newDirectory()
  let relay: LiftRelay | undefined
  try {
    const keepIn = options.keep ? projectOf(context) : undefined
    relay = await LiftRelay.start({ roles, port, directory, keepIn }, print)
    const { url, dataDir } = relay
    const page = await relay.pageLink()
    if (print.isJson) {
      const prompts = Object.fromEntries(roles.map((role) => [role, kickoffPrompt(role, roles, url)]))
      await print.json({ type: 'ready', url, page, roles, dataDir, prompts })
    } else {
      await print.line(typedHere(print, env, connecting(url, Number(new URL(url).port), port === liftPortDefault)))
      await print.line(blocks(print, roles, url))
      await print.line(banner(print, relay, roles, { page, isKept: options.keep === true }))
    }
    await relay.feed(print, ending)
    if (!print.isJson) print.say('ending the lift.')
  } finally {
    await relay?.stop()
    forget(directory)
  }
}

/** Adds the relay to the project's MCP files, or removes it. */
async function configure({ options, env, print, cwd }: Context<LiftOptions>, port: number): Promise<number> {
  const { addLiftEntries, outcomeLines, installContext, removeLiftEntries } = await import('@agent-relay/mcp/install')
  const isOn = options.configure === true
  if (isOn && options.unconfigure) throw new CommandError('Either --configure or --unconfigure.', exits.usage)
  const around = installContext(env, cwd)
  const outcomes = isOn ? addLiftEntries(port, around) : removeLiftEntries(around)
  if (print.isJson) await print.json(outcomes)
  else for (const line of outcomes.flatMap((outcome) => outcomeLines(outcome, isOn))) await print.line(clean(line))
  if (outcomes.length === 0 && !print.isJson) print.say('None of the files of this project has it.')
  return Math.max(0, ...outcomes.map(({ exit }) => exit))
}

/** Prints the prompt of a role. The roles and the port are options of `lift` itself: `lift --port 7400 prompt pm`. */
async function printPrompt({ args, options, print }: Context<LiftOptions>): Promise<void> {
  const { checkRole, rolesOf } = await import('./roles.ts')
  const [role] = args as [string]
  const roles = rolesOf(options.roles)
  checkRole(role, roles)
  const text = kickoffPrompt(role, roles, `http://localhost:${options.port ?? liftPortDefault}`)
  await (print.isJson ? print.json({ role, prompt: text }) : print.line(text))
}

/** Fails if the port is taken, before any pane is opened for a relay that could not start. */
async function checkPort(port: number): Promise<void> {
  if (port !== 0 && (await loopbackFault(port)) === 'EADDRINUSE') throw (await import('./relay.ts')).portTaken(port)
}

function projectOf({ cwd }: Context): string {
  if (cwd === undefined) throw new CommandError('The working directory is gone. Change to another.', exits.usage)
  return cwd
}
