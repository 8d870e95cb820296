// `lift`: starts a relay for several sessions with a role each, which a person starts by hand, or which run in panes of tmux or kitty. Files that load the
// daemon or the supervisor are imported where they are used, since they would slow down the completion script.

import { defaultCli } from '@agent-relay/sdk/internal/clis'
import { loopbackFault } from '../../../machine/http-port.ts'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  type ExitCode,
  exitCodes,
  type NamedCommand,
} from '../../command.ts'
import { endingSignal } from '../../ending.ts'
import { cleanText } from '../../text.ts'
import { commandsAsTyped, connectingText, liftBanner, promptBlocks } from './banner.ts'
import { runPane } from './pane.ts'
import { isProgramInstalled } from './panes.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'
import type { LiftPlan } from './window.ts'

const liftPortDefault = 7331

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

const liftOptions = {
  manual: { flags: '--manual', text: 'print the prompts for pasting, and be the relay until Ctrl-C (the default)' },
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
} satisfies CliOptions

export const lift: CliCommand<typeof liftOptions> = {
  options: liftOptions,
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

async function run(context: CommandContext<typeof liftOptions>): Promise<ExitCode> {
  const { options, print, env } = context
  const cwd = projectOf(context)
  const { manual, tmux, kitty, port = liftPortDefault, cli = defaultCli, keep = false } = options
  const { parseRoles } = await import('./roles.ts')
  const roles = parseRoles(options.roles)
  if (options.configure || options.unconfigure) return configure(context, port)
  if ([manual, tmux, kitty].filter(Boolean).length > 1)
    throw new CommandError('Give only one of --manual, --tmux and --kitty.', exitCodes.usage)
  if (manual || !(tmux || kitty)) return byHand(context, roles, port)
  const kind = tmux ? 'tmux' : 'kitty'
  if (!(await isProgramInstalled(kind, kind === 'tmux' ? '-V' : '--version'))) {
    print.say(`${kind} is not installed here: paste the prompts yourself.`)
    return byHand(context, roles, port)
  }
  const { findRoleProgram } = await import('./program.ts')
  findRoleProgram(cli, cwd, env)
  await checkPort(port)
  const plan: LiftPlan = { kind, roles, port, cli, cwd, isKept: keep, env }
  const { openLiftWindow } = await import('./window.ts')
  await openLiftWindow(plan, print)
}

/** Runs the relay in this process, and prints the prompt of each role for the person to paste. */
async function byHand(context: CommandContext<typeof liftOptions>, roles: string[], port: number): Promise<void> {
  const { options, print, env } = context
  const ending = endingSignal()
  const { removeLiftDirectory, LiftRelay, newLiftDirectory } = await import('./relay.ts')
  const directory = newLiftDirectory()
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
      await print.line(
        commandsAsTyped(print, env, connectingText(url, Number(new URL(url).port), port === liftPortDefault)),
      )
      await print.line(promptBlocks(print, roles, url))
      await print.line(liftBanner(print, relay, roles, { page, isKept: options.keep === true }))
    }
    await relay.showMessages(print, ending)
    if (!print.isJson) print.say('ending the lift.')
  } finally {
    await relay?.stop()
    removeLiftDirectory(directory)
  }
}

/** Adds the lift's relay to the project's MCP configuration files, or removes it. */
async function configure(
  { options, env, print, cwd }: CommandContext<typeof liftOptions>,
  port: number,
): Promise<number> {
  const { addLiftEntries, outcomeLines, installContext, removeLiftEntries } = await import('@agent-relay/mcp/install')
  const isOn = options.configure === true
  if (isOn && options.unconfigure) throw new CommandError('Either --configure or --unconfigure.', exitCodes.usage)
  const around = installContext(env, cwd)
  const outcomes = isOn ? addLiftEntries(port, around) : removeLiftEntries(around)
  if (print.isJson) await print.json(outcomes)
  else for (const line of outcomes.flatMap((outcome) => outcomeLines(outcome, isOn))) await print.line(cleanText(line))
  if (outcomes.length === 0 && !print.isJson) print.say('None of the files of this project has it.')
  return Math.max(0, ...outcomes.map(({ exit }) => exit))
}

/** Prints the prompt of a role. Options for roles and port come before the word `prompt`: `lift --port 7400 prompt pm`. */
async function printPrompt({ args, options, print }: CommandContext<typeof liftOptions>): Promise<void> {
  const { checkRole, parseRoles } = await import('./roles.ts')
  const [role] = args as [string]
  const roles = parseRoles(options.roles)
  checkRole(role, roles)
  const text = kickoffPrompt(role, roles, `http://localhost:${options.port ?? liftPortDefault}`)
  await (print.isJson ? print.json({ role, prompt: text }) : print.line(text))
}

/** Throws if the port is taken. Called before panes are opened for a relay that could not start. */
async function checkPort(port: number): Promise<void> {
  if (port !== 0 && (await loopbackFault(port)) === 'EADDRINUSE')
    throw (await import('./relay.ts')).portTakenError(port)
}

function projectOf({ cwd }: CommandContext): string {
  if (cwd === undefined) throw new CommandError('The working directory is gone. Change to another.', exitCodes.usage)
  return cwd
}
