// `agent-relay-mcp hook PermissionRequest --cli opencode`, which our plugin runs while opencode asks its user for a permission or an answer. Asks for
// an approval in the relay. If somebody answers there first, prints the HTTP request that answers opencode. The plugin reports an answer in
// opencode's own terminal. If anything goes wrong, the hook prints nothing, and the dialog works as if there were no hook.

import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { reachDaemon } from '@agent-relay/sdk/internal/discover'
import { opencodePermissionText } from '@agent-relay/sdk/internal/opencode-permission-text'
import { permissionText } from '@agent-relay/sdk/internal/permission-text'
import { ApprovalConnection, type ApprovalOutcome } from './approval-line.cts'
import { hostProcesses } from './identity.cts'

/** Maximum number of characters of a text that are sent to the daemon, which shortens them further. */
const textCharsMax = 256 * 1024

/** A line that the plugin writes: opencode's question as in its event, or the answer that was given in the terminal. */
interface PluginLine {
  asks?: 'permission' | 'question'
  event?: Record<string, unknown> & { id: string }
  /** The input of the tool for which the permission is asked. */
  input?: unknown
  reply?: string
}

const kinds: Record<string, ApprovalOutcome['kind']> = { once: 'allow', always: 'always', reject: 'deny' }

/** Runs the hook, which ends the process when it is done. */
export function runOpencodePermissionHook(): void {
  const key = randomBytes(16).toString('hex')
  let line: Promise<ApprovalConnection> | undefined
  // The end of the input means that opencode has ended, and its question with it.
  createInterface(process.stdin)
    .on('line', hear)
    .on('close', () => process.exit())

  function hear(text: string): void {
    try {
      const told = JSON.parse(text) as PluginLine
      if (line === undefined) line = begin(told)
      else void line.then((it) => it.settle(settledBy(told)))
      line.catch(() => process.exit())
    } catch {
      process.exit()
    }
  }

  async function begin(told: PluginLine): Promise<ApprovalConnection> {
    const { asks, event } = told
    if (!asks || !event) throw new Error('it was answered at once')
    const ask = { key, vendor: 'opencode', ...(asks === 'question' ? questionRequest(event) : permissionRequest(told)) }
    const { socketPath, socket = connect(socketPath) } = await reachDaemon()
    const opened = new ApprovalConnection(socket, { hosts: hostProcesses(process.env) }, ask)
    void opened.outcome.then((over) => {
      const answer = over.how === 'answered' ? opencodeReply(asks, event.id, over) : undefined
      if (!answer) process.exit()
      process.stdout.write(JSON.stringify(answer), () => process.exit())
    })
    return opened
  }

  function settledBy({ reply }: PluginLine): object {
    return reply === undefined ? { key, how: 'cancelled' } : { key, how: 'terminal', kind: kinds[reply] ?? 'other' }
  }
}

function permissionRequest({ event = { id: '' }, input }: PluginLine): object {
  const text = opencodePermissionText(event, input)
  return {
    tool: String(event.permission),
    ...shownInput(text),
    choices: Object.entries(kinds).map(([id, kind]) => ({ id, kind })),
    passesWords: true,
  }
}

interface Question {
  question: string
  options: { label: string; description?: string }[]
  multiple?: boolean
}

function questionRequest({ questions }: Record<string, unknown>): object {
  const all = questions as Question[]
  return {
    tool: 'question',
    ...shownInput(all.map(({ question }) => permissionText({ title: question })).join('\n')),
    choices: [
      { id: 'answer', kind: 'other' },
      { id: 'reject', kind: 'deny' },
    ],
    questions: all.map(({ question, options, multiple }) => ({
      text: question,
      options: options.map(({ label, description }) => ({ label, text: description })),
      isMany: multiple === true,
    })),
  }
}

function shownInput(text: string): object {
  return { input: text.slice(0, textCharsMax), inputChars: text.length, directory: process.cwd() }
}

/** Returns the HTTP request by which opencode's own server is given the answer. */
function opencodeReply(asks: string, id: string, { choice, words, answers = [] }: ApprovalOutcome): object {
  if (asks === 'permission') return { url: `/permission/${id}/reply`, body: { reply: choice, message: words } }
  if (choice === 'reject') return { url: `/question/${id}/reject`, body: {} }
  return { url: `/question/${id}/reply`, body: { answers: answers.map((each) => [each]) } }
}
