// `agent-relay-mcp hook PreToolUse` (BeforeTool, preToolUse, tool): what an agent's CLI runs before a tool that may write files. It asks the daemon,
// and prints the answer only where the edit is denied. If no answer comes in time, the edit goes ahead, and a note of it is left for the daemon:
// work never stops because of us. Loaded in the time of a bare Node, like the other hooks.

import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { dataDir, discoverSocket, reachDaemon, setting, spoolName } from '@agent-relay/sdk/internal/discover'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { newPipeId } from '../pipe/opening.cts'
import { type Edits, editsOf } from './edits.cts'
import { hosts, threadOf } from './identity.cts'
import { stdinText } from './stdin.cts'

/** From the question to its answer. */
const verdictMs = waitLimitMs('edit')
/** Notes for one workspace that nobody has read: beyond this number no more are left. And workspaces with notes. */
const notesMax = 1_000
const foldersMax = 1_000
/** As many as the daemon takes. */
const { claimFilesMax: filesMax, claimTreesMax: treesMax } = pipeLimits

interface Asked extends Edits {
  cwd: string
}

/** A call of a tool, and the conversation that it is made in. */
interface Said {
  asked: Asked
  thread?: string
}

/** Ends the process by itself. */
export async function editHook(event: string): Promise<void> {
  const { env } = process
  const [name, token] = [setting(env, 'RELAY_AGENT_NAME'), setting(env, 'RELAY_AGENT_TOKEN')]
  const said = saidIn(await stdinText())
  if (!said || (name === undefined && token !== undefined)) process.exit()
  const { asked, thread } = said
  const known = token === undefined ? { hosts: hosts(env.RELAY_HOST), thread } : undefined
  const late = (socketPath?: string) => {
    leaveNote(asked, known ?? { proof: hashOf(token as string) }, socketPath ?? discoverSocket()?.socketPath)
    process.exit()
  }
  let socketPath: string | undefined
  setTimeout(() => late(socketPath), verdictMs)
  try {
    const reached = await reachDaemon()
    socketPath = reached.socketPath
    const answer = await ask(reached.socket ?? connect(socketPath), known ?? { token }, asked)
    if (answer?.isDenied) process.stdout.write(`${JSON.stringify(denial(event, answer.text))}\n`, () => process.exit())
    else process.exit()
  } catch {
    late(socketPath)
  }
}

function denial(event: string, text: string): object {
  const decided = { permissionDecision: 'deny', permissionDecisionReason: text }
  if (event === 'PreToolUse') return { hookSpecificOutput: { hookEventName: event, ...decided } }
  return event === 'preToolUse' ? decided : { decision: 'deny', reason: text }
}

/** Undefined where the call shows no edit. */
function saidIn(text: string): Said | undefined {
  try {
    const said = JSON.parse(text) as Record<string, unknown>
    const tool = said.tool_name ?? said.toolName
    const given = said.tool_input ?? said.toolArgs
    const input = typeof given === 'string' ? JSON.parse(given) : given
    const cwd = typeof said.cwd === 'string' ? said.cwd : process.cwd()
    if (typeof tool !== 'string' || typeof input !== 'object' || input === null) return undefined
    const { files, trees, git } = editsOf(tool, input, cwd)
    const distinct = (paths: readonly string[], max: number) => [...new Set(paths)].slice(0, max)
    if (files.length === 0 && !git) return undefined
    const asked = { cwd, files: distinct(files, filesMax), trees: trees && distinct(trees, treesMax), git }
    return { asked, thread: threadOf(said) }
  } catch {
    return undefined
  }
}

/** Undefined where the daemon does not know whom we speak for, or does not want to say. Rejects where the connection breaks. */
function ask(socket: Socket, identity: object, input: Asked): Promise<{ isDenied: boolean; text: string } | undefined> {
  const send = (type: string, payload: object) =>
    socket.write(`${JSON.stringify({ v: 1, type, id: newPipeId(), ts: Date.now(), payload })}\n`)
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('error', reject).on('close', () => reject(new Error('closed')))
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() as string
      for (const line of lines) {
        const { type, payload } = JSON.parse(line)
        if (type === 'WELCOME') send('CALL', { op: 'claim.edit', input })
        else if (type === 'ACK') resolve(payload)
        else if (type !== 'EVENT') resolve(undefined)
      }
    })
    send('HELLO', identity)
  })
}

/** As the daemon's database has it: the token itself must not lie in a file. The edit has gone ahead, so loading this holds up nobody. */
function hashOf(token: string): string {
  const { createHash } = require('node:crypto') as typeof import('node:crypto')
  return createHash('sha256').update(token).digest('hex')
}

/** Written aside and renamed: the daemon must not read half of it. */
function leaveNote(asked: Asked, who: object, socket: string | undefined): void {
  if (socket === undefined) return
  try {
    const spool = setting(process.env, 'RELAY_NOTES') ?? join(dataDir(process.env), 'hooks', 'spool')
    const folder = join(spool, spoolName(socket))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const notes = readdirSync(folder).filter((name) => name.endsWith('.json'))
    if (notes.length >= notesMax || readdirSync(spool).length > foldersMax) return
    const name = `${Date.now()}-${process.pid}`
    const note = { at: Date.now(), socket, ...who, ...asked }
    writeFileSync(join(folder, `${name}.tmp`), JSON.stringify(note), { mode: 0o600, flag: 'wx' })
    renameSync(join(folder, `${name}.tmp`), join(folder, `${name}.json`))
  } catch {}
}
