// `daemon install-service`: writes a systemd user unit for the daemon. It does not start the unit, but prints the command for that.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { dataDir, type Env, readForeignText, setting } from '@agent-relay/sdk/internal/discover'
import { dataDirectoryFault } from '../../../machine/data-directory.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { relayScript, userShellPath } from '../../own-name.ts'
import { withTilde } from '../../text.ts'
import { httpArguments, httpOptions, requestedHttpPort } from './http.ts'
import { logJsonOption } from './run.ts'

const unitName = 'agent-relay.service'

const serviceOptions = {
  dryRun: { flags: '--dry-run', text: 'only print the unit' },
  remove: { flags: '--remove', text: 'remove the unit' },
  logJson: logJsonOption,
  ...httpOptions,
} satisfies CliOptions

export const installService: NamedCommand<typeof serviceOptions> = {
  name: 'install-service',
  text: 'write a systemd user unit that runs the daemon at every login; starts nothing',
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
    relayScript,
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
  // For a new file the flag is `wx`: if the path is a symbolic link, `w` would create the file at its target.
  if (!isSame) writeFileSync(path, text, { mode: 0o644, flag: present === undefined ? 'wx' : 'w' })
  if (print.isJson) return void (await print.json({ path, isChanged: !isSame }))
  print.say(
    `${where} ${isSame ? 'is up to date' : 'is written'}. Nothing was started. To start it now and at every login:`,
  )
  await print.line('systemctl --user daemon-reload && systemctl --user enable --now agent-relay')
}

/** Whether systemd runs units of this user here, and ours is not installed. */
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

/** Refuses to overwrite a unit of that name that we did not write. */
function checkOurs(present: string | undefined, path: string, env: Env): void {
  if (present === undefined || present.startsWith(serviceMark)) return
  throw new CommandError(
    `${withTilde(path, env.HOME)} was not made by Agent Relay and was left alone. Move it away first.`,
    exitCodes.config,
  )
}

/** Returns the environment variables of the unit: PATH, so that workers find their CLIs, and those that determine the data directory. */
function serviceEnv(env: Env): Record<string, string> {
  const dataHome = setting(env, 'XDG_DATA_HOME')
  return {
    PATH: userShellPath(env),
    ...(setting(env, 'RELAY_DATA_DIR') ? { RELAY_DATA_DIR: dataDir(env) } : {}),
    ...(dataHome ? { XDG_DATA_HOME: dataHome } : {}),
  }
}

interface ServiceUnitOptions {
  /** The absolute path of the program, and its arguments. */
  command: readonly string[]
  /** The environment variables for the daemon and its workers, since systemd passes almost none. */
  env: Readonly<Record<string, string>>
  /** Exit codes after which systemd should not start the daemon again. */
  finalExits: readonly number[]
}

/** The first line of every unit that we write, by which we recognize our own. */
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
    // systemd sends SIGTERM only to the daemon, which ends its workers itself. What is left afterwards is killed.
    'KillMode=mixed',
    'TimeoutStopSec=20',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n')
}

/** Quotes a word for a unit: systemd expands `%` everywhere, and `$` in commands. */
function quoted(word: string, isCommand: boolean): string {
  const plain = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${isCommand ? plain.replaceAll('$', '$$$$') : plain}"`
}
