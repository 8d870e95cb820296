// `agent-relay-mcp hook PermissionRequest --cli claude`, which Claude Code runs while its permission dialog is open. Asks for an approval in the
// relay, and prints the answer if somebody gives one there first. An answer in the terminal is not reported by Claude Code, so the hook looks for it
// (claude-terminal-answer.cts) and tells the daemon. If anything goes wrong, the hook prints nothing, and the dialog works as if there were no hook.
// Like all hooks, it must start about as fast as an empty Node.js program.

import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { reachDaemon } from '@agent-relay/sdk/internal/discover'
import { permissionText } from '@agent-relay/sdk/internal/permission-text'
import { ApprovalConnection, type ApprovalOutcome } from './approval-line.cts'
import { ClaudeTerminalWatch } from './claude-terminal-answer.cts'
import { hookIdentity, hostProcesses } from './identity.cts'
import { readStdinText } from './stdin.cts'

/** Interval of the checks whether the person has answered in the terminal. */
const terminalLookMs = 250
/** Maximum number of characters of the tool's input that are sent to the daemon, which shortens them further. */
const inputCharsMax = 256 * 1024
/**
 * How long the hook waits for the request on its standard input. The wait may be long: the dialog waits for a person anyway, and without the request
 * nobody could answer it from elsewhere.
 */
const permissionCallMs = 30_000

interface ClaudePermissionRequest {
  tool: string
  input: Record<string, unknown>
  cwd: string
  transcript: string | undefined
  suggestions: Suggestion[]
}

/** A change of the session's permissions that Claude Code proposes. */
interface Suggestion {
  type: string
  destination?: string
  [more: string]: unknown
}

/** Runs the hook, which ends the process when it is done. */
export async function runClaudePermissionHook(): Promise<void> {
  const asked = parseRequest(await readStdinText(permissionCallMs))
  const identity = hookIdentity(process.env)
  if (!asked || !identity) process.exit()
  const watched = new ClaudeTerminalWatch({ ...asked, host: hostProcesses(process.env)[0] })
  try {
    const { socketPath, socket = connect(socketPath) } = await reachDaemon()
    // By this key a restarted daemon recognizes the hook's question, so it must be impossible to guess.
    const key = randomBytes(16).toString('hex')
    const ask = { key, vendor: 'claude', ...shownRequest(asked), ...possibleAnswers(asked), passesWords: true }
    const line = new ApprovalConnection(socket, identity, ask)
    const parent = process.ppid
    const look = setInterval(() => {
      // Claude Code has ended, and its question with it.
      if (process.ppid !== parent) process.exit()
      const kind = watched.terminalAnswer()
      if (kind) line.settle({ key, how: 'terminal', kind })
    }, terminalLookMs)
    // Claude Code ends its hook with SIGTERM when the person has refused in the terminal, or has interrupted the turn.
    process.on('SIGTERM', () => {
      const kind = watched.terminalAnswer()
      line.settle(kind ? { key, how: 'terminal', kind } : { key, how: 'cancelled' })
      setTimeout(() => process.exit(), terminalLookMs)
    })
    const answer = decisionOf(await line.outcome, asked)
    clearInterval(look)
    if (!answer) process.exit()
    const output = { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: answer } }
    process.stdout.write(`${JSON.stringify(output)}\n`, () => process.exit())
  } catch {
    process.exit()
  }
}

const choices = [
  { id: 'allow', kind: 'allow' },
  { id: 'always', kind: 'always' },
  { id: 'deny', kind: 'deny' },
]

/** Claude Code's name for the tool by which its model asks the person, with options. */
const questionTool = 'AskUserQuestion'

interface Question {
  question: string
  options: { label: string; description?: string }[]
  multiSelect?: boolean
}

/** Returns the questions of the input; undefined for an input of another form, which is shown as it is and answered at the terminal. */
function questionsIn({ tool, input }: ClaudePermissionRequest): Question[] | undefined {
  const { questions } = input
  if (tool !== questionTool || !Array.isArray(questions) || questions.length === 0) return undefined
  const isQuestion = (each: Partial<Question> | null) =>
    typeof each?.question === 'string' && Array.isArray(each.options) && each.options.every(isOption)
  return questions.every(isQuestion) ? questions : undefined
}

const isOption = (each: { label?: unknown } | null) => typeof each?.label === 'string'

/** Returns the choices for the person. A question is answered with its options or denied; a bare yes is not offered. */
function possibleAnswers(asked: ClaudePermissionRequest): { choices: typeof choices; questions?: object[] } {
  const questions = questionsIn(asked)
  if (!questions) return { choices: asked.tool === questionTool ? [] : choices }
  return {
    choices: [{ id: 'answer', kind: 'other' }, ...choices.filter(({ kind }) => kind === 'deny')],
    questions: questions.map(({ question, options, multiSelect }) => ({
      text: question,
      options: options.map(({ label, description }) => ({ label, text: description })),
      isMany: multiSelect === true,
    })),
  }
}

function parseRequest(text: string): ClaudePermissionRequest | undefined {
  try {
    const { tool_name: tool, tool_input: input, cwd, transcript_path, permission_suggestions } = JSON.parse(text)
    if (typeof tool !== 'string' || typeof input !== 'object' || input === null) return undefined
    return {
      tool,
      input,
      cwd: typeof cwd === 'string' ? cwd : process.cwd(),
      transcript: typeof transcript_path === 'string' ? transcript_path : undefined,
      suggestions: Array.isArray(permission_suggestions) ? permission_suggestions : [],
    }
  } catch {
    return undefined
  }
}

function shownRequest(asked: ClaudePermissionRequest): {
  tool: string
  input: string
  inputChars: number
  directory: string
} {
  const { tool, input, cwd } = asked
  const questions = questionsIn(asked)
  const text = questions ? questions.map(questionText).join('\n') : permissionText({ input })
  return { tool, input: text.slice(0, inputCharsMax), inputChars: text.length, directory: cwd }
}

function questionText({ question, options }: Question): string {
  const shown = options.map(
    ({ label, description }, i) => `  ${i + 1}  ${label}${description ? `: ${description}` : ''}`,
  )
  return [question, ...shown].join('\n')
}

/** The decision in Claude Code's format; undefined if nobody has answered the approval in the relay. */
function decisionOf(
  { how, kind, words, answers }: ApprovalOutcome,
  asked: ClaudePermissionRequest,
): object | undefined {
  if (how !== 'answered') return undefined
  const questions = kind === 'deny' ? undefined : questionsIn(asked)
  if (questions) {
    const given = Object.fromEntries(questions.map(({ question }, i) => [question, answers?.[i] ?? '']))
    return { behavior: 'allow', updatedInput: { ...asked.input, answers: given } }
  }
  if (kind === 'allow') return { behavior: 'allow' }
  if (kind === 'always') return { behavior: 'allow', updatedPermissions: sessionPermissions(asked) }
  return kind === 'deny' ? { behavior: 'deny', message: words ?? 'A person said no.' } : undefined
}

/**
 * Returns what the choice "always" permits: what Claude Code suggests, but for this session alone, so that no settings file is written. Without a
 * suggestion it permits the same tool, and for a shell only the same command.
 */
function sessionPermissions({ tool, input, suggestions }: ClaudePermissionRequest): object[] {
  if (suggestions.length > 0) return suggestions.map((each) => ({ ...each, destination: 'session' }))
  const rule = typeof input.command === 'string' ? { toolName: tool, ruleContent: input.command } : { toolName: tool }
  return [{ type: 'addRules', rules: [rule], behavior: 'allow', destination: 'session' }]
}
