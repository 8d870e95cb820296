// The doctor's checks of the machine: Node, the project's configuration file, the HTTP port, and the agent CLIs on PATH.

import { execFile } from 'node:child_process'
import { detectEditors, installContext, programPath } from '@agent-relay/mcp/install'
import { dataDir, type Env, findDaemon, findProjectConfig, findProjectFile } from '@agent-relay/sdk/internal/discover'
import { httpPortDefault, loopbackFault, usualPort } from '../../../machine/http-port.ts'
import { portOwner } from '../../../machine/port-owner.ts'
import { daemonStatus, tryWithControl } from '../../control-socket.ts'
import { oneLine, withTilde } from '../../text.ts'
import { requestedHttpPort } from '../daemon/http.ts'
import { type DoctorCheck, type Finding, faultFinding, noteFinding, okFinding } from './finding.ts'

const nodeVersionMin = [20, 19] as const
/** Timeout in ms for a CLI that is asked for its version: some start slowly. */
const versionMs = 15_000

export const nodeCheck: DoctorCheck = ({ nodeVersion }) => {
  if (!isOldNode(nodeVersion)) return [okFinding('node', `Node ${nodeVersion}`)]
  const text = `Node ${nodeVersion} is too old: Agent Relay needs ${nodeVersionMin.join('.')} or newer`
  return [faultFinding('node', text, 'install a newer one from https://nodejs.org')]
}

export function isOldNode(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major < nodeVersionMin[0] || (major === nodeVersionMin[0] && minor < nodeVersionMin[1])
}

/**
 * Checks the project's configuration file, by which commands in this directory find their workspace. It may have come with a repository, so the doctor leaves
 * changes to the person.
 */
export const projectCheck: DoctorCheck = async ({ env, cwd }) => {
  if (cwd === undefined) return []
  try {
    const file = findProjectFile(cwd)
    findProjectConfig(cwd)
    if (!file) return []
    const path = withTilde(file.path, env.HOME)
    const [workspace, lack] = await missingWorkspace(cwd, env)
    if (lack === 'workspace.unknown')
      return [
        faultFinding(
          'project',
          `${path} names workspace ${workspace}, which does not exist`,
          'agent-relay daemon start',
        ),
      ]
    if (lack === 'workspace.closed')
      return [
        faultFinding(
          'project',
          `${path} names workspace ${workspace}, which is not open`,
          `agent-relay workspace open ${workspace}`,
        ),
      ]
    return [okFinding('project', path)]
  } catch (error) {
    const fix = 'correct the file, or remove it: agent-relay daemon start writes it again'
    return [faultFinding('project', (error as Error).message, fix)]
  }
}

/**
 * Returns the name of the workspace in the project's file, and the code of the refusal if its daemon runs but the workspace cannot be reached: agents of this
 * project could not communicate.
 */
async function missingWorkspace(cwd: string, env: Env): Promise<[workspace: string, code?: string]> {
  try {
    const found = await findDaemon({ cwd, env: { ...env, RELAY_PROJECT: undefined, RELAY_SOCKET: undefined } })
    return [found.project]
  } catch (error) {
    const { code, details } = error as { code?: string; details?: { workspace?: string } }
    return [details?.workspace ?? '', code]
  }
}

/** Checks the HTTP port. If the running daemon has another one than the usual port, clients may not find it. */
export const portCheck: DoctorCheck = async ({ env }) => {
  const running = await tryWithControl(env, daemonStatus)
  const asked = requestedHttpPort({}, env)?.port
  if (running) {
    const { http } = running
    const text = http ? `the daemon listens at ${http.url}` : 'the daemon has no HTTP port'
    const isElsewhere = http && asked === undefined && Number(new URL(http.url).port) !== httpPortDefault
    if (!isElsewhere || (await loopbackFault(httpPortDefault)) === undefined) return [okFinding('port', text)]
    const fix = `write ${http.url} into their settings; if a key was sent there: agent-relay workspace key --rotate`
    return [noteFinding('port', `${text}, and ${portTakenText(httpPortDefault)}. ${keysGoThere}`, fix)]
  }
  if (asked === 0) return [okFinding('port', 'any free one')]
  const wanted = asked ?? usualPort(dataDir(env))
  if ((await loopbackFault(wanted)) === undefined) return [okFinding('port', `${wanted} is free`)]
  const text = portTakenText(wanted)
  const other = wanted < 65_535 ? wanted + 1 : wanted - 1
  if (asked === undefined) {
    const fix = 'end that program, or start the daemon and write its address into their settings'
    return [noteFinding('port', `${text}: the daemon will take the next that is free. ${keysGoThere}`, fix)]
  }
  return [faultFinding('port', text, `choose another: RELAY_PORT=${other}, or agent-relay up --port ${other}`)]
}

const keysGoThere = 'Clients that are set up for that port send it their keys'

function portTakenText(port: number): string {
  const owner = portOwner(port)
  return `port ${port} is taken by another program${owner === undefined ? '' : ` (${owner})`}`
}

const unknownToDaemon =
  'the daemon does not find it, since it was started with another PATH, and starts no worker with it'

export const clisCheck: DoctorCheck = async ({ env, cwd }) => {
  const around = installContext(env, cwd)
  const found = detectEditors(around).flatMap((editor) => {
    const path = programPath(editor, around)
    return path === undefined ? [] : [{ editor, path }]
  })
  if (found.length === 0)
    return [noteFinding('clis', 'no agent CLI is on PATH', 'for instance: npm install -g @anthropic-ai/claude-code')]
  const running = await tryWithControl(env, daemonStatus)
  return Promise.all(
    found.map(async ({ editor, path }): Promise<Finding> => {
      const version = await programVersion(path, env)
      const check = `cli ${editor.name}`
      const text = `${version} (${path})`
      const isFound = !running?.path || programPath(editor, { ...around, env: { PATH: running.path } }) !== undefined
      if (version !== undefined && isFound) return okFinding(check, text)
      if (version !== undefined) return noteFinding(check, `${text}: ${unknownToDaemon}`, 'agent-relay daemon restart')
      return faultFinding(check, `${path} does not tell its version`, `try it: ${path} --version`)
    }),
  )
}

export function programVersion(path: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = execFile(path, ['--version'], { env, timeout: versionMs, killSignal: 'SIGKILL' }, (error, stdout) =>
      resolve(error ? undefined : oneLine(stdout.split('\n').find((line) => /\d/.test(line)) ?? '') || undefined),
    )
    child.stdin?.end()
  })
}
