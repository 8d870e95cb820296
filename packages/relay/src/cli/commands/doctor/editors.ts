// The doctor's check of the launcher, and of our entry in each editor's MCP configuration, the user's and the project's: whether it exists, starts the
// launcher, and gets an answer to `tools/list`.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { readEntry } from '@agent-relay/mcp/careful'
import {
  detectEditors,
  type Editor,
  entryCommand,
  foreignCommand,
  type InstallContext,
  installContext,
  editors as known,
  runInstall,
} from '@agent-relay/mcp/install'
import {
  isLauncherCommand,
  isServeCommand,
  launcherNode,
  launcherPath,
  launcherState,
  refreshLauncher,
} from '@agent-relay/mcp/launcher'
import { mcpServerName } from '@agent-relay/sdk/internal/clis'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { tryWithControl } from '../../control-socket.ts'
import { oneLine, withTilde } from '../../text.ts'
import { type CheckedMachine, type DoctorCheck, type Finding, faultFinding, noteFinding, okFinding } from './finding.ts'
import { isOldNode, programVersion } from './machine.ts'

/** Timeout in ms against a server that hangs: one that works answers in a tenth of a second. */
const serverAnswerMs = waitLimitMs('doctorServer')

/** Checks the launcher, the script that editors' entries and the plugin start. It may be missing, but if it exists it must start this installation. */
export const launcherCheck: DoctorCheck = async ({ env }) => {
  const [path, state] = [withTilde(launcherPath(env), env.HOME), launcherState(env)]
  if (state === 'missing') return []
  const repair = () => void refreshLauncher(env)
  const stale = (text: string) => [faultFinding('launcher', text, 'agent-relay mcp install', repair)]
  const node = launcherNode(env)
  const version = node !== undefined && existsSync(node) ? await programVersion(node, env) : undefined
  if (version !== undefined && isOldNode(version)) return stale(`${path} starts ${node}, which is too old: ${version}`)
  if (state === 'current') return [okFinding('launcher', path)]
  return stale(`${path} starts another installation of Agent Relay, or another Node, than this command line`)
}

export const editorsCheck: DoctorCheck = async (patient) => {
  const around = installContext(patient.env, patient.cwd)
  const here = detectEditors(around)
  const isRunning = (await tryWithControl(patient.env, async () => true)) === true
  const visit: EditorsVisit = { patient, isRunning, asked: new Map() }
  const findings = await Promise.all(
    known.map(async (editor) => [
      ...(await checkOwnEntry(editor, here.includes(editor), around, visit)),
      ...(await checkProjectEntry(editor, around, visit)),
    ]),
  )
  const found = findings.flat()
  if (found.length > 0) return found
  return [noteFinding('editors', 'no editor or CLI was found', 'agent-relay mcp install --editor NAME')]
}

/** State that the checks of all editors share. */
interface EditorsVisit {
  patient: CheckedMachine
  isRunning: boolean
  /** The results of starting the servers, by command: if several editors have the same command, it is started once. */
  asked: Map<string, Promise<string | undefined>>
}

/** One editor's entry to check: its file, and how to fix it. */
interface EntryToCheck {
  check: string
  file: string
  fix: string
  repair?: () => Promise<void>
  /** The project's directory. If the file is a link to a place outside it, the entry is refused. */
  within?: string
  /** The program that the entry starts, if it is not ours. The doctor does not start it. */
  foreign?: string
}

async function checkOwnEntry(
  editor: Editor,
  isHere: boolean,
  around: InstallContext,
  visit: EditorsVisit,
): Promise<Finding[]> {
  const { env, cwd } = visit.patient
  const check = `editor ${editor.name}`
  const fix = `agent-relay mcp install --editor ${editor.name}`
  const repair = async () => {
    const { exit } = await runInstall({
      editor: editor.name,
      hooks: false,
      env,
      cwd,
      say: () => {},
      confirm: async () => false,
    })
    if (exit !== 0) throw new Error(`${editor.name} could not be fixed`)
  }
  const foreign = foreignCommand(editor, false, around)
  const found = await checkEntry(editor, { check, file: editor.userFile(around), fix, repair, foreign }, visit)
  return found ?? (isHere ? [noteFinding(check, 'not connected', fix)] : [])
}

/**
 * Checks the editors' files in the project of this directory. They may come from somebody else, so the doctor starts their program only if it is exactly the
 * one that we write, and leaves changes to the person.
 */
async function checkProjectEntry(editor: Editor, around: InstallContext, visit: EditorsVisit): Promise<Finding[]> {
  const file = editor.projectFile?.(around)
  if (file === undefined || visit.patient.cwd === undefined || file === editor.userFile(around)) return []
  const fix = `agent-relay mcp install --project --editor ${editor.name}`
  const foreign = foreignCommand(editor, true, around)
  const target = { check: `editor ${editor.name}`, file, fix, within: around.project, foreign }
  return (await checkEntry(editor, target, visit)) ?? []
}

/** Returns the findings about one entry; undefined if there is no entry. */
async function checkEntry(editor: Editor, target: EntryToCheck, visit: EditorsVisit): Promise<Finding[] | undefined> {
  const { check, file, fix, repair, within, foreign } = target
  const { env } = visit.patient
  const shown = withTilde(file, env.HOME)
  const wrong = (text: string) => [faultFinding(check, text, fix, repair)]
  const right = (text: string) => [okFinding(check, text)]
  let entry: unknown
  try {
    entry = readEntry(file, editor.keyPath, mcpServerName, { within })
  } catch (error) {
    return [faultFinding(check, `${shown}: ${(error as Error).message}`, `correct the file, then: ${fix}`)]
  }
  if (entry === undefined) return undefined
  const { url } = entry as { url?: unknown }
  if (typeof url === 'string') {
    if (isHere(url)) return right(`${shown} (not tried: by its address ${url})`)
    return [faultFinding(check, `${shown} leads to another machine: ${oneLine(url)}`, `${fix} --yes`)]
  }
  const command = entryCommand(entry)
  if (command.length === 0) return wrong(`${shown}: the entry starts nothing`)
  if (foreign !== undefined) return [faultFinding(check, `${shown} starts another program: ${foreign}`, `${fix} --yes`)]
  const gone = command.find((part, i) => i < 2 && isAbsolute(part) && !existsSync(part))
  if (gone !== undefined) return wrong(`${shown} starts ${gone}, which is not there`)
  if (!visit.isRunning) return right(`${shown} (not tried: the daemon does not run)`)
  if (!isLauncherCommand(command, env)) return wrong(`${shown} starts Agent Relay without its launcher`)
  // A project's file may have come with a repository. So only a command that starts our server is run, and no other of ours, such as `uninstall`.
  if (!isServeCommand(command, env)) return wrong(`${shown} starts the launcher, and not as a server`)
  const key = JSON.stringify(command)
  const answer = visit.asked.get(key) ?? askForTools(command, visit.patient)
  visit.asked.set(key, answer)
  const why = await answer
  return why === undefined
    ? right(`${shown}, the server answers`)
    : wrong(`${shown}: the server does not answer tools/list: ${why}`)
}

/** Whether a URL leads to this machine. Every relay's does, so an entry of our name with another address is not ours. */
function isHere(url: string): boolean {
  const { hostname = '' } = URL.canParse(url) ? new URL(url) : {}
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

/** A request in the newest version of MCP, which has no handshake: the check registers no agent. */
const toolsRequest = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'doctor', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

/** Starts a server and asks it for its tools. Resolves to undefined if it answers, otherwise to the reason why not. */
function askForTools([program = '', ...args]: string[], { env }: CheckedMachine): Promise<string | undefined> {
  return new Promise((resolve) => {
    const nobody = { ...env, RELAY_AGENT_NAME: undefined, RELAY_AGENT_TOKEN: undefined }
    // The server runs in `/`: in a project's directory it would wait for the project's workspace, which may be closed, and the check would blame the editor.
    const child = spawn(program, args, { env: nobody, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    const end = (why: string | undefined) => {
      clearTimeout(late)
      child.stdin.end()
      child.kill()
      resolve(why)
    }
    const late = setTimeout(() => end('it took too long'), serverAnswerMs)
    child.once('error', (error) => end(error.message))
    child.once('exit', (code) => end(oneLine(err.split('\n')[0] ?? '') || `it ended with ${code}`))
    child.stdin.on('error', () => {})
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (out.split('\n').some((line) => /"id":1\b/.test(line) && line.includes('"tools"'))) end(undefined)
    })
    child.stdin.write(`${JSON.stringify(toolsRequest)}\n`)
  })
}
