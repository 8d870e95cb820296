// The doctor's check of each editor, in the user's own files and the project's: is the entry there, does it start what it names, and does that
// answer `tools/list`.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { readEntry } from '@agent-relay/mcp/careful'
import {
  detected,
  type Editor,
  entryName,
  installed,
  editors as known,
  runInstall,
  type Surroundings,
  surroundingsOf,
} from '@agent-relay/mcp/install'
import { reachControl } from '../starting.ts'
import { homely, oneLine } from '../text.ts'
import type { Check, Finding, Patient } from './finding.ts'

/** A server that has to fetch a package first needs its time. */
const answerMs = 20_000

export const editors: Check = async (patient) => {
  const around = surroundingsOf(patient.env, patient.cwd)
  const here = detected(around)
  const link = await reachControl(patient.env)
  await link?.close()
  const visit: Visit = { patient, isRunning: link !== undefined, asked: new Map() }
  const findings = await Promise.all(
    known.map(async (editor) => [
      ...(await lookAtOwn(editor, here.includes(editor), around, visit)),
      ...(await lookAtProject(editor, around, visit)),
    ]),
  )
  const found = findings.flat()
  if (found.length > 0) return found
  return [
    {
      check: 'editors',
      state: 'note',
      text: 'no editor or CLI was found',
      mend: 'agent-relay mcp install --editor NAME',
    },
  ]
}

/** What the looks at all editors share. */
interface Visit {
  patient: Patient
  isRunning: boolean
  /** By command: several editors start the same one. */
  asked: Map<string, Promise<string | undefined>>
}

/** One entry that is looked at: where it should be, and what is done about it. */
interface Place {
  check: string
  file: string
  again: string
  fix?: () => Promise<void>
  /** Whether it may be started to see whether it answers. */
  mayTry(command: readonly string[]): boolean
}

async function lookAtOwn(editor: Editor, isHere: boolean, around: Surroundings, visit: Visit): Promise<Finding[]> {
  const { env, cwd } = visit.patient
  const check = `editor ${editor.name}`
  const again = `agent-relay mcp install --editor ${editor.name}`
  const fix = async () => {
    const { exit } = await runInstall({ editor: editor.name, env, cwd, say: () => {} })
    if (exit !== 0) throw new Error(`${editor.name} could not be mended`)
  }
  const found = await look(editor, { check, file: editor.userFile(around), again, fix, mayTry: () => true }, visit)
  return found ?? (isHere ? [{ check, state: 'note', text: 'not connected', mend: again }] : [])
}

/**
 * Of the directory it is run in. Others may have written these files: what they name is started only where it is what we would have
 * written ourselves, and they are mended by the person, who may share them with others.
 */
async function lookAtProject(editor: Editor, around: Surroundings, visit: Visit): Promise<Finding[]> {
  const file = editor.projectFile?.(around)
  if (file === undefined || visit.patient.cwd === undefined || file === editor.userFile(around)) return []
  const ours = installed([])
  const mayTry = ([program, script]: readonly string[]) => program === ours.command && script === ours.args[0]
  const again = `agent-relay mcp install --project --editor ${editor.name}`
  return (await look(editor, { check: `editor ${editor.name}`, file, again, mayTry }, visit)) ?? []
}

/** Undefined where there is no entry. */
async function look(editor: Editor, place: Place, visit: Visit): Promise<Finding[] | undefined> {
  const { check, file, again: mend, fix, mayTry } = place
  const { env } = visit.patient
  const shown = homely(file, env.HOME)
  const fault = (text: string): Finding[] => [{ check, state: 'fault', text, mend, fix }]
  const ok = (text: string): Finding[] => [{ check, state: 'ok', text }]
  let entry: unknown
  try {
    entry = readEntry(file, editor.keyPath, entryName)
  } catch (error) {
    const text = `${shown}: ${(error as Error).message}`
    return [{ check, state: 'fault', text, mend: `mend the file, then: ${mend}` }]
  }
  if (entry === undefined) return undefined
  const { url } = entry as { url?: unknown }
  if (typeof url === 'string') return ok(`${shown} (not tried: by its address ${url})`)
  const command = commandOf(entry)
  if (command.length === 0) return fault(`${shown}: the entry starts nothing`)
  const gone = command.find((part, i) => i < 2 && isAbsolute(part) && !existsSync(part))
  if (gone !== undefined) return fault(`${shown} starts ${gone}, which is not there`)
  if (!visit.isRunning) return ok(`${shown} (not tried: the daemon does not run)`)
  if (!mayTry(command)) return ok(`${shown} (not tried: the project names a program of its own)`)
  const key = JSON.stringify(command)
  const answer = visit.asked.get(key) ?? ask(command, visit.patient)
  visit.asked.set(key, answer)
  const why = await answer
  return why === undefined
    ? ok(`${shown}, the server answers`)
    : fault(`${shown}: the server does not answer tools/list: ${why}`)
}

/** The program and its arguments, in whichever shape the editor has them. */
function commandOf(entry: unknown): string[] {
  const { command, args } = (entry ?? {}) as { command?: unknown; args?: unknown }
  const words = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [])]
  return words.every((word) => typeof word === 'string') ? words : []
}

/** In the form of the newest protocol, which needs no greeting: nobody is registered for it. */
const question = {
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

/** Undefined where it answered; else why not. */
function ask([program = '', ...args]: string[], { env, cwd }: Patient): Promise<string | undefined> {
  return new Promise((resolve) => {
    const nobody = { ...env, RELAY_AGENT_NAME: undefined, RELAY_AGENT_TOKEN: undefined }
    const child = spawn(program, args, { env: nobody, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    const end = (why: string | undefined) => {
      clearTimeout(late)
      child.stdin.end()
      child.kill()
      resolve(why)
    }
    const late = setTimeout(() => end('it took too long'), answerMs)
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
    child.stdin.write(`${JSON.stringify(question)}\n`)
  })
}
