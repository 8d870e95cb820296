// `agent-relay-mcp hook PreToolUse` (or BeforeTool, preToolUse, tool), which an agent's CLI runs before a tool that may write files. Asks the daemon
// whether another agent has claimed the files, and prints an answer only if the edit is denied. If the daemon does not answer in time, the edit goes
// ahead, and the hook leaves a note about it in a file for the daemon: Agent Relay must never stop the work. Like all hooks, it must start about as
// fast as an empty Node.js program.

import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { dataDir, discoverSocket, reachDaemon, setting, spoolName } from '@agent-relay/sdk/internal/discover'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'
import { type FileEdits, findEdits } from './edits.cts'
import { cliConversationIdOf, type HookIdentity, hookIdentity } from './identity.cts'
import { readStdinText } from './stdin.cts'

/** The longest wait for the daemon's verdict. */
const verdictMs = waitLimitMs('edit')
/** Maximum number of unread notes for one workspace, and of workspaces with notes. Beyond these no note is left. */
const notesMax = 1_000
const foldersMax = 1_000
/** The daemon's limits on the files of one edit. */
const { claimFilesMax: filesMax, claimTreesMax: treesMax } = pipeLimits

interface EditRequest extends FileEdits {
  cwd: string
}

interface ClaimVerdict {
  isDenied: boolean
  text: string
}

/** The edit that a tool call is about to make, and the id of the CLI's conversation. */
interface EditCall {
  asked: EditRequest
  thread?: string
}

/** Runs the hook, which ends the process when it is done. */
export async function runEditHook(event: string): Promise<void> {
  const said = parseEditCall(await readStdinText())
  const known = hookIdentity(process.env)
  if (!said || !known) process.exit()
  const { asked, thread } = said
  const identity = 'hosts' in known ? { ...known, thread } : known
  const late = (socketPath?: string) => {
    leaveNote(asked, identity, socketPath ?? discoverSocket()?.socketPath)
    process.exit()
  }
  let socketPath: string | undefined
  setTimeout(() => late(socketPath), verdictMs)
  try {
    const reached = await reachDaemon()
    socketPath = reached.socketPath
    const answer = await askDaemon(reached.socket ?? connect(socketPath), identity, asked)
    if (answer?.isDenied)
      process.stdout.write(`${JSON.stringify(denialOutput(event, answer.text))}\n`, () => process.exit())
    else process.exit()
  } catch {
    late(socketPath)
  }
}

function denialOutput(event: string, text: string): object {
  const decided = { permissionDecision: 'deny', permissionDecisionReason: text }
  if (event === 'PreToolUse') return { hookSpecificOutput: { hookEventName: event, ...decided } }
  return event === 'preToolUse' ? decided : { decision: 'deny', reason: text }
}

/** Reads the edit from a CLI's tool call; undefined if the call shows no edit. */
function parseEditCall(text: string): EditCall | undefined {
  try {
    const said = JSON.parse(text) as Record<string, unknown>
    const tool = said.tool_name ?? said.toolName
    const given = said.tool_input ?? said.toolArgs
    const input = typeof given === 'string' ? JSON.parse(given) : given
    const cwd = typeof said.cwd === 'string' ? said.cwd : process.cwd()
    if (typeof tool !== 'string' || typeof input !== 'object' || input === null) return undefined
    const { files, trees, git } = findEdits(tool, input, cwd)
    const distinct = (paths: readonly string[], max: number) => [...new Set(paths)].slice(0, max)
    if (files.length === 0 && !git) return undefined
    const asked = { cwd, files: distinct(files, filesMax), trees: trees && distinct(trees, treesMax), git }
    return { asked, thread: cliConversationIdOf(said) }
  } catch {
    return undefined
  }
}

/**
 * Asks the daemon whether the edit may be made. Undefined if the daemon refuses the hook, for example for an agent that it does not know. Rejects if
 * the connection breaks.
 */
function askDaemon(socket: Socket, identity: HookIdentity, input: EditRequest): Promise<ClaimVerdict | undefined> {
  return new Promise((resolve, reject) => {
    const client = new WireClient(socket, identity, (isRefused) => (isRefused ? resolve(undefined) : reject()))
    client.call<ClaimVerdict>('claim.edit', input).then(resolve)
  })
}

/**
 * Hashes the token as the daemon's database does: the token itself must not be in a file. Loads `node:crypto` only here, since most hooks do not need
 * it.
 */
function hashOf(token: string): string {
  const { createHash } = require('node:crypto') as typeof import('node:crypto')
  return createHash('sha256').update(token).digest('hex')
}

/** Leaves a note about the edit for the daemon. Writes a temporary file and renames it, so that the daemon never reads half a note. */
function leaveNote(asked: EditRequest, identity: HookIdentity, socket: string | undefined): void {
  if (socket === undefined) return
  try {
    const spool = setting(process.env, 'RELAY_NOTES') ?? join(dataDir(process.env), 'hooks', 'spool')
    const folder = join(spool, spoolName(socket))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const notes = readdirSync(folder).filter((name) => name.endsWith('.json'))
    if (notes.length >= notesMax || readdirSync(spool).length > foldersMax) return
    const name = `${Date.now()}-${process.pid}`
    const speaker = 'token' in identity ? { proof: hashOf(identity.token) } : identity
    const note = { at: Date.now(), socket, ...speaker, ...asked }
    writeFileSync(join(folder, `${name}.tmp`), JSON.stringify(note), { mode: 0o600, flag: 'wx' })
    renameSync(join(folder, `${name}.tmp`), join(folder, `${name}.json`))
  } catch {}
}
