// `daemon install-service`: a systemd user unit for the daemon. It is written and never started: that is said, and left to the person.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { dataDir, type Env, setting } from '@agent-relay/sdk/discover'
import { CommandError, exits, type Run } from '../command.ts'
import { httpArgs, httpWish } from '../http.ts'
import { launcher } from '../launcher.ts'
import { pathOfOwn } from '../own-name.ts'
import { serviceMark, serviceUnit } from '../service-unit.ts'
import { homely } from '../text.ts'

const unitName = 'agent-relay.service'

export const installService: Run = async ({ env, options, print }) => {
  const path = unitPath(env)
  const command = [process.execPath, launcher, 'daemon', 'run', ...httpArgs(httpWish(options, env))]
  const text = serviceUnit({ command, env: serviceEnv(env), finalExits: [exits.lostRace, exits.config] })
  if (options.dryRun) return void (await (print.isJson ? print.json({ path, text }) : print.line(text.trimEnd())))
  if (process.platform !== 'linux')
    throw new CommandError('Only systemd is known here. Start it by hand: agent-relay daemon start', exits.refused)
  checkOurs(path, env)
  const where = homely(path, env.HOME)
  if (options.remove) {
    const isRemoved = existsSync(path)
    rmSync(path, { force: true })
    if (print.isJson) return void (await print.json({ path, isRemoved }))
    print.say(`${where} is removed. To end what runs: systemctl --user disable --now agent-relay`)
    return
  }
  const isSame = existsSync(path) && readFileSync(path, 'utf8') === text
  mkdirSync(dirname(path), { recursive: true })
  if (!isSame) writeFileSync(path, text, { mode: 0o644 })
  if (print.isJson) return void (await print.json({ path, isChanged: !isSame }))
  print.say(
    `${where} ${isSame ? 'is as it should be' : 'is written'}. Nothing was started. To start it now and at every login:`,
  )
  await print.line('systemctl --user daemon-reload && systemctl --user enable --now agent-relay')
}

function unitPath(env: Env): string {
  const config = setting(env, 'XDG_CONFIG_HOME')
  const base = config && isAbsolute(config) ? config : join(env.HOME ?? '', '.config')
  if (!isAbsolute(base)) throw new CommandError('HOME is not set: there is no place for a unit.', exits.config)
  return join(base, 'systemd', 'user', unitName)
}

/** A unit of that name which somebody else wrote is left alone. */
function checkOurs(path: string, env: Env): void {
  if (!existsSync(path) || readFileSync(path, 'utf8').startsWith(serviceMark)) return
  throw new CommandError(
    `${homely(path, env.HOME)} was not made by Agent Relay and was left alone. Move it away first.`,
    exits.config,
  )
}

/** PATH, so that workers find their CLIs; the rest only where it says where things lie. */
function serviceEnv(env: Env): Record<string, string> {
  const dataHome = setting(env, 'XDG_DATA_HOME')
  return {
    PATH: pathOfOwn(env),
    ...(setting(env, 'RELAY_DATA_DIR') ? { RELAY_DATA_DIR: dataDir(env) } : {}),
    ...(dataHome ? { XDG_DATA_HOME: dataHome } : {}),
  }
}
