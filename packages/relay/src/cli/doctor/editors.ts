// The doctor's check of each editor: is the entry there, does it start what it names, and does that answer `tools/list`.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { readEntry } from '@agent-relay/mcp/careful'
import {
  detected,
  type Editor,
  entryName,
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
  const asked = new Map<string, Promise<string | undefined>>()
  const findings = await Promise.all(
    known.map((editor) => look(editor, here.includes(editor), patient, around, link !== undefined, asked)),
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

async function look(
  editor: Editor,
  isHere: boolean,
  patient: Patient,
  around: Surroundings,
  isRunning: boolean,
  asked: Map<string, Promise<string | undefined>>,
): Promise<Finding[]> {
  const check = `editor ${editor.name}`
  const file = editor.userFile(around)
  const shown = homely(file, patient.env.HOME)
  const again = `agent-relay mcp install --editor ${editor.name}`
  let entry: unknown
  try {
    entry = readEntry(file, editor.keyPath, entryName)
  } catch (error) {
    return [
      { check, state: 'fault', text: `${shown}: ${(error as Error).message}`, mend: `mend the file, then: ${again}` },
    ]
  }
  if (entry === undefined) return isHere ? [{ check, state: 'note', text: 'not connected', mend: again }] : []
  const fix = async () => {
    const { exit } = await runInstall({ editor: editor.name, env: patient.env, cwd: patient.cwd, say: () => {} })
    if (exit !== 0) throw new Error(`${editor.name} could not be mended`)
  }
  const command = commandOf(entry)
  const gone = command.filter((part, i) => i < 2 && isAbsolute(part) && !existsSync(part))
  if (command.length === 0 || gone.length > 0) {
    const text =
      gone.length > 0 ? `${shown} starts ${gone[0]}, which is not there` : `${shown}: the entry starts nothing`
    return [{ check, state: 'fault', text, mend: again, fix }]
  }
  if (!isRunning) return [{ check, state: 'ok', text: `${shown} (not tried: the daemon does not run)` }]
  const key = JSON.stringify(command)
  const answer = asked.get(key) ?? ask(command, patient)
  asked.set(key, answer)
  const why = await answer
  if (why === undefined) return [{ check, state: 'ok', text: `${shown}, the server answers` }]
  return [{ check, state: 'fault', text: `${shown}: the server does not answer tools/list: ${why}`, mend: again, fix }]
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
