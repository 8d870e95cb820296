// The client of opencode's own HTTP server on loopback. The server takes messages, and reports opencode's questions: permission requests, and
// questions of its model. Its events are read in events.ts.

import { opencodePermissionText } from '@agent-relay/sdk/internal/opencode-permission-text'
import { limits, Question, questionsMax } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { type CliServer, interruptAnswerMs } from '../cli-server.ts'
import type { Dialog } from '../dialog.ts'
import { ConversationStatuses, OpencodeEvents } from './events.ts'

/** Timeout of an answer: the server is on this machine, and answers at once or not at all. */
const serverAnswerMs = 3_000

const Id = z.string().max(limits.idCharsMax)
const Call = z.object({ messageID: Id, callID: Id })
const Permission = z.object({
  id: Id,
  sessionID: Id,
  permission: z.string(),
  patterns: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  /** The patterns of actions that the answer `always` would allow from then on. */
  always: z.array(z.string()),
  tool: Call.optional(),
})
const AskedQuestions = z.object({
  id: Id,
  questions: z
    .array(
      z
        .object({
          question: z.string(),
          options: z.array(z.object({ label: z.string(), description: z.string().optional() })),
          multiple: z.boolean().optional(),
        })
        .transform(({ question: text, options, multiple: isMany }) =>
          Question.parse({
            text,
            options: options.map(({ label, description }) => ({ label, text: description })),
            isMany,
          }),
        ),
    )
    .min(1)
    .max(questionsMax),
})
const Message = z.object({
  parts: z.array(z.object({ callID: Id.optional(), state: z.object({ input: z.unknown() }).optional() })),
})
const Session = z.object({
  id: Id,
  parentID: z.string().optional(),
  time: z.object({ updated: z.number().optional() }).optional(),
})

interface OpencodeServerAddress {
  port: number
  secret: string
  /** The opencode agent profile that the worker was started with. */
  agent: string | undefined
}

export function opencodeCliServer({ port, secret, agent }: OpencodeServerAddress): CliServer {
  const request = makeRequest(port, secret)
  const ask = makeJsonRequest(request, serverAnswerMs)
  /** Opens the stream of events. The timeout covers only the first answer: a server that is starting may accept a request and never answer it. */
  const open = async (signal: AbortSignal): Promise<Response> => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), serverAnswerMs)
    try {
      return await request('GET', '/event', { signal: AbortSignal.any([signal, late.signal]) })
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    send: (text) => sendMessage(ask, agent, text),
    readDialog: async () => (await readPermissionDialog(ask)) ?? (await readQuestionDialog(ask)),
    interrupt: () => abortSessions(makeJsonRequest(request, interruptAnswerMs)),
    follow: (listener) => new OpencodeEvents({ open, ask }, listener),
  }
}

/** Sends the text to the session that was used last. If there is no session yet, fills in the terminal's prompt and submits it instead. */
async function sendMessage(ask: RequestJson, agent: string | undefined, text: string): Promise<boolean> {
  try {
    const sessions = z.array(Session).parse(await ask('GET', '/session'))
    const [newest] = sessions
      .filter(({ parentID }) => parentID === undefined)
      .sort((a, b) => (b.time?.updated ?? 0) - (a.time?.updated ?? 0))
    if (newest) {
      await ask('POST', `/session/${newest.id}/prompt_async`, { agent, parts: [{ type: 'text', text }] })
    } else {
      await ask('POST', '/tui/append-prompt', { text })
      await ask('POST', '/tui/submit-prompt', {})
    }
    return true
  } catch {
    return false
  }
}

/** Aborts the sessions that are busy, which also takes back their questions. Returns false if no session was busy. */
async function abortSessions(ask: RequestJson): Promise<boolean> {
  const statuses = ConversationStatuses.parse(await ask('GET', '/session/status'))
  const busy = Object.keys(statuses).filter((id) => statuses[id]?.type !== 'idle')
  for (const id of busy) await ask('POST', `/session/${encodeURIComponent(id)}/abort`)
  return busy.length > 0
}

/** Reads the first permission request that waits; the terminal, too, shows one after the other. */
async function readPermissionDialog(ask: RequestJson): Promise<Dialog | undefined> {
  const [first] = z.array(Permission).parse(await ask('GET', '/permission'))
  if (!first) return undefined
  const { id, permission: tool, always } = first
  return {
    identity: id,
    tool,
    input: await inputOf(ask, first),
    choices: [
      { id: 'once', kind: 'allow', label: 'Allow once' },
      { id: 'always', kind: 'always', label: `Allow until opencode ends: ${always.join(', ')}` },
      { id: 'reject', kind: 'deny', label: 'Reject' },
    ],
    passesWords: true,
    answer: ({ choice: reply, words: message }) => ask('POST', `/permission/${id}/reply`, { reply, message }),
  }
}

/**
 * Returns the text of the request: for a command, the whole input of its tool, such as the directory in which it runs; for an edit, the changes;
 * otherwise the request itself.
 */
async function inputOf(ask: RequestJson, asked: z.infer<typeof Permission>) {
  const { sessionID, permission, tool } = asked
  if (permission === 'edit' || !tool) return opencodePermissionText(asked, undefined)
  const { parts } = Message.parse(await ask('GET', `/session/${sessionID}/message/${tool.messageID}`))
  return opencodePermissionText(asked, parts.find(({ callID }) => callID === tool.callID)?.state?.input)
}

async function readQuestionDialog(ask: RequestJson): Promise<Dialog | undefined> {
  const [first] = z.array(AskedQuestions).parse(await ask('GET', '/question'))
  if (!first) return undefined
  const { id, questions } = first
  return {
    identity: id,
    tool: 'question',
    input: questions.map(({ text }) => text).join('\n'),
    questions,
    choices: [
      { id: 'answer', kind: 'other' },
      { id: 'deny', kind: 'deny' },
    ],
    answer: ({ kind, answers = [] }) =>
      kind === 'deny'
        ? ask('POST', `/question/${id}/reject`, {})
        : ask('POST', `/question/${id}/reply`, { answers: answers.map((each) => [each]) }),
  }
}

type SendRequest = ReturnType<typeof makeRequest>
type RequestJson = ReturnType<typeof makeJsonRequest>

function makeRequest(port: number, secret: string) {
  const authorization = `Basic ${Buffer.from(`opencode:${secret}`).toString('base64')}`
  return async (method: string, path: string, more: RequestInit): Promise<Response> => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...more })
    if (!response.ok) throw new Error(`opencode answered ${response.status}`)
    return response
  }
}

function makeJsonRequest(request: SendRequest, answerMs: number) {
  return async (method: string, path: string, body?: object): Promise<unknown> => {
    const signal = AbortSignal.timeout(answerMs)
    const response = await request(method, path, {
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const answer = await response.text()
    return answer === '' ? undefined : JSON.parse(answer)
  }
}
