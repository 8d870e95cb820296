// `daemon install-service`: writes a systemd user unit for the daemon. Starting it is left to the person, who is told how.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { dataDir, type Env, readForeignText, setting } from '@agent-relay/sdk/internal/discover'
import { dataDirectoryFault } from '../../../machine/data-directory.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { launcher, pathOfOwn } from '../../own-name.ts'
import { withTilde } from '../../text.ts'
import { httpArguments, httpOptions, requestedHttpPort } from './http.ts'
import { logJsonOption } from './run.ts'

const unitName = 'agent-relay.service'

const serviceOptions = {
  dryRun: { flags: '--dry-run', text: 'only print it' },
  remove: { flags: '--remove', text: 'remove it again' },
  logJson: logJsonOption,
  ...httpOptions,
} satisfies CliOptions

export const installService: NamedCommand<typeof serviceOptions> = {
  name: 'install-service',
  text: 'write a systemd user unit that runs it at every login; starts nothing',
  options: serviceOptions,
  examples: ['agent-relay daemon install-service --dry-run', 'agent-relay daemon install-service --log-json'],
  actsForNoAgent: true,
  run,
}

async function run({ env, options, print }: CommandContext<typeof serviceOptions>): Promise<void> {
  const path = unitPath(env)
  const log = options.logJson ? ['--log-json'] : []
  const command = [
    process.execPath,
    launcher,
    'daemon',
    'run',
    ...httpArguments(requestedHttpPort(options, env)),
    ...log,
  ]
  const text = serviceUnitText({ command, env: serviceEnv(env), finalExits: [exitCodes.lostRace, exitCodes.config] })
  if (options.dryRun) return void (await (print.isJson ? print.json({ path, text }) : print.line(text.trimEnd())))
  if (process.platform !== 'linux')
    throw new CommandError('Only systemd is known here. Start it by hand: agent-relay daemon start', exitCodes.refused)
  const present = readForeignText(path, { mayBeLink: true })
  checkOurs(present, path, env)
  const where = withTilde(path, env.HOME)
  if (options.remove) {
    const isRemoved = existsSync(path)
    rmSync(path, { force: true })
    if (print.isJson) return void (await print.json({ path, isRemoved }))
    print.say(`${where} is removed. To end what runs: systemctl --user disable --now agent-relay`)
    return
  }
  const isSame = present === text
  const fault = dataDirectoryFault(dirname(path))
  if (fault !== undefined) throw new CommandError(`${where} cannot be written: ${fault}.`, exitCodes.denied)
  mkdirSync(dirname(path), { recursive: true })
  // The flag `wx` does not follow a dangling link, which would create the unit wherever it points.
  if (!isSame) writeFileSync(path, text, { mode: 0o644, flag: present === undefined ? 'wx' : 'w' })
  if (print.isJson) return void (await print.json({ path, isChanged: !isSame }))
  print.say(
    `${where} ${isSame ? 'is up to date' : 'is written'}. Nothing was started. To start it now and at every login:`,
  )
  await print.line('systemctl --user daemon-reload && systemctl --user enable --now agent-relay')
}

/** Whether systemd runs this user's units here, and ours is not installed yet. */
export function canInstallService(env: Env): boolean {
  const runtime = setting(env, 'XDG_RUNTIME_DIR')
  return runtime !== undefined && existsSync(join(runtime, 'systemd')) && !existsSync(unitPath(env))
}

function unitPath(env: Env): string {
  const config = setting(env, 'XDG_CONFIG_HOME')
  const base = config && isAbsolute(config) ? config : join(env.HOME ?? '', '.config')
  if (!isAbsolute(base)) throw new CommandError('HOME is not set: there is no place for a unit.', exitCodes.config)
  return join(base, 'systemd', 'user', unitName)
}

/** Refuses to overwrite a unit of that name that somebody else wrote. */
function checkOurs(present: string | undefined, path: string, env: Env): void {
  if (present === undefined || present.startsWith(serviceMark)) return
  throw new CommandError(
    `${withTilde(path, env.HOME)} was not made by Agent Relay and was left alone. Move it away first.`,
    exitCodes.config,
  )
}

/** The unit's environment: PATH, so that workers find their CLIs, and the variables that move the data directory. */
function serviceEnv(env: Env): Record<string, string> {
  const dataHome = setting(env, 'XDG_DATA_HOME')
  return {
    PATH: pathOfOwn(env),
    ...(setting(env, 'RELAY_DATA_DIR') ? { RELAY_DATA_DIR: dataDir(env) } : {}),
    ...(dataHome ? { XDG_DATA_HOME: dataHome } : {}),
  }
}

interface ServiceUnitOptions {
  /** The absolute path of a program, and its arguments. */
  command: readonly string[]
  /** The environment of the daemon and its workers; a unit starts with almost none. */
  env: Readonly<Record<string, string>>
  /** Exit codes after which another start cannot help. */
  finalExits: readonly number[]
}

/** The first line of every unit that we write, by which we recognize it. */
const serviceMark = '# Made by: agent-relay daemon install-service'

export function serviceUnitText({ command, env, finalExits }: ServiceUnitOptions): string {
  const variables = Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`, false)}`)
  return [
    serviceMark,
    '[Unit]',
    'Description=Agent Relay: AI coding agents on this machine talk to each other',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command.map((word) => quoted(word, true)).join(' ')}`,
    ...variables,
    'Restart=on-failure',
    'RestartSec=2',
    `RestartPreventExitStatus=${finalExits.join(' ')}`,
    // The daemon ends its workers itself; systemd ends the rest.
    'KillMode=mixed',
    'TimeoutStopSec=20',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n')
}

/** systemd expands `%` everywhere, and `$` in a command. */
function quoted(word: string, isCommand: boolean): string {
  const plain = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${isCommand ? plain.replaceAll('$', '$$$$') : plain}"`
}
