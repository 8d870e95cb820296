// The source of our plugin for opencode. It wakes an idle session when messages wait, and does what hooks do in other CLIs. `install` names the
// plugin, a file in the data directory, in opencode's settings. It runs inside opencode, so it loads none of our files: it starts the launcher, as
// hooks do, and prints nothing.

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { launcherCommand } from '../launcher/index.ts'

export function pluginPath(env: Env): string {
  return join(dataDir(env), 'bin', 'agent-relay-opencode.js')
}

/** Writes the plugin. opencode ignores a missing plugin, so nothing breaks when the data directory is removed. */
export function refreshPlugin(env: Env): void {
  const path = pluginPath(env)
  const draft = `${path}.${process.pid}.tmp`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  rmSync(draft, { force: true })
  writeFileSync(draft, pluginText(env), { flag: 'wx', mode: 0o644 })
  renameSync(draft, path)
}

/** Pause in ms between the end of a waiter (the process that waits for messages while the session is idle) and the start of the next. */
const nextWaiterMs = 30_000

/** The plugin's source. Words such as @LAUNCHER@ are replaced by the launcher's path and arguments. */
const template = `// Agent Relay puts messages of other agents before an idle session, and lets others answer what it asks. To remove it: agent-relay mcp uninstall --editor opencode
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'

const launcher = @LAUNCHER@
const args = @ARGS@
const promptArgs = @PROMPT_ARGS@
const editArgs = @EDIT_ARGS@
const askArgs = @ASK_ARGS@
const doingArgs = @DOING_ARGS@
const brief = @HOOKS@ + '/brief.' + process.pid

export const AgentRelay = async ({ client, directory }) => {
  const reasonOf = (text) => {
    try {
      return JSON.parse(text).reason
    } catch {
      return text
    }
  }

  // Asks before a tool that may write. Rejects with a text if another agent is working on the file.
  const ask = ({ tool }, { args }) => {
    if (!/^(write|edit|patch|apply_patch|multiedit|bash)$/.test(tool) || !existsSync(launcher)) return
    const env = { ...process.env, RELAY_HOST: String(process.pid) }
    return new Promise((resolve, reject) => {
      const child = spawn(launcher, editArgs, { cwd: directory, env, stdio: ['pipe', 'pipe', 'ignore'] })
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      child.on('error', () => resolve())
      child.stdin.on('error', () => {})
      child.on('close', () => (text ? reject(new Error(reasonOf(text))) : resolve()))
      child.stdin.end(JSON.stringify({ tool_name: tool, tool_input: args, cwd: directory }))
    })
  }

  // A worker of the relay gets its messages in another way.
  if (process.env.RELAY_WORKER) return { 'tool.execute.before': ask }
  const isChild = new Map() // by session: whether another session began it
  const busy = new Set()
  let session, waiter, later
  let isGiving = false

  // During a question to the person the session's turn goes on.
  const isIdle = () => session !== undefined && !busy.has(session)

  // The output of a waiter that is ended counts as never shown. The hook that prints for it ends with its input.
  const end = (child) => {
    child?.stdin.end()
    child?.kill()
  }

  // Keeps a waiter only while the session is idle: messages that come during a turn wait for its end.
  const look = () => {
    clearTimeout(later)
    if (!isIdle() && !isGiving) {
      end(waiter)
      waiter = undefined
    }
    if (!isIdle() || waiter || !existsSync(launcher)) return
    const env = { ...process.env, RELAY_HOST: String(process.pid) }
    const child = spawn(launcher, args, { cwd: directory, env, stdio: ['pipe', 'pipe', 'ignore'] })
    let text = ''
    waiter = child
    child.stdin.on('error', () => {})
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      if (text.endsWith('\\n') && waiter === child) void give(child, text)
    })
    child.on('error', () => {})
    child.on('close', () => waiter === child && rest())
  }

  const rest = () => {
    waiter = undefined
    clearTimeout(later)
    later = setTimeout(look, ${nextWaiterMs})
    later.unref?.()
  }

  // The waiter reports the messages as shown when it is told that opencode has them.
  const give = async (child, text) => {
    const id = session
    isGiving = true
    try {
      const last = await lastPrompt(id)
      if (!last || session !== id || !isIdle()) throw new Error('not now')
      const parts = [{ type: 'text', text: JSON.parse(text) }]
      const { error } = await client.session.promptAsync({ path: { id }, body: { ...last, parts } })
      if (error) throw error
      child.stdin.write('given\\n')
    } catch {
      end(child)
    }
    isGiving = false
    rest()
  }

  // The agent and model of the person's last prompt, with which another agent's message is sent. Otherwise opencode would use its default agent,
  // which may edit although the person has chosen a read-only mode. Undefined if they are unknown: then the session is not woken.
  const lastPrompt = async (id) => {
    const { data } = await client.session.messages({ path: { id } })
    const { agent, model, system, tools, variant } = data.findLast(({ info }) => info.role === 'user').info
    if (!agent || !model?.providerID || !model.modelID) return undefined
    const { providerID, modelID } = model
    return { agent, model: { providerID, modelID }, system, tools, variant: variant ?? model.variant }
  }

  const sees = async (id) => {
    if (!isChild.has(id)) isChild.set(id, Boolean((await client.session.get({ path: { id } })).data?.parentID))
    if (!isChild.get(id)) session = id
  }

  // The text of our hook for a prompt of the person.
  const said = () =>
    new Promise((resolve) => {
      const env = { ...process.env, RELAY_HOST: String(process.pid) }
      const child = spawn(launcher, promptArgs, { cwd: directory, env, stdio: ['ignore', 'pipe', 'ignore'] })
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      child.on('error', () => resolve(''))
      child.on('close', () => {
        try {
          resolve(JSON.parse(text).hookSpecificOutput.additionalContext)
        } catch {
          resolve('')
        }
      })
    })

  // After a compaction the next prompt carries the agent's brief.
  const addBrief = async ({ sessionID }, { message, parts }) => {
    if (sessionID !== session || !existsSync(brief) || !existsSync(launcher)) return
    const [text, last] = [await said(), parts.at(-1)]
    if (text && last) parts.push({ id: last.id + 'r', sessionID, messageID: message.id, type: 'text', text, synthetic: true })
  }

  // A question of opencode to its person is in the queue of approvals too. The first answer counts.
  const asking = new Map() // by question: the hook that asks, and the session that waits
  const asks = async (kind, event) => {
    if (!existsSync(launcher)) return
    const { id, sessionID, tool } = event
    const env = { ...process.env, RELAY_HOST: String(process.pid) }
    const child = spawn(launcher, askArgs, { cwd: directory, env, stdio: ['pipe', 'pipe', 'ignore'] })
    asking.set(id, { child, sessionID, kind: kind === 'permission' ? 'a permission' : 'an answer' })
    show()
    let text = ''
    child.stdin.on('error', () => {})
    child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk))
    const over = () => asking.delete(id) && show()
    child.on('error', over)
    child.on('close', () => {
      over()
      if (text) void client._client.post({ ...JSON.parse(text), headers: { 'content-type': 'application/json' } }).catch(() => {})
    })
    const path = { id: sessionID, messageID: tool?.messageID }
    const { data } = tool ? await client.session.message({ path }).catch(() => ({})) : {}
    const input = data?.parts.find(({ callID }) => callID === tool.callID)?.state?.input
    if (asking.has(id)) child.stdin.write(JSON.stringify({ asks: kind, event, input }) + '\\n')
  }

  // The question was answered at the terminal or, without a reply, withdrawn.
  const answered = (id, reply) => {
    asking.get(id)?.child.stdin.write(JSON.stringify({ reply }) + '\\n')
    asking.delete(id)
    show()
  }

  // Tells the daemon whether the session is idle, busy or waiting: one call at a time, and only the newest state.
  let shown, telling
  const show = () => {
    const [waits] = asking.values()
    const doing = waits ? { state: 'waiting', for: waits.kind } : { state: isIdle() ? 'idle' : 'busy' }
    const text = JSON.stringify(doing)
    if (session === undefined || telling || text === shown || !existsSync(launcher)) return
    shown = text
    const env = { ...process.env, RELAY_HOST: String(process.pid) }
    const child = spawn(launcher, doingArgs, { cwd: directory, env, stdio: ['pipe', 'ignore', 'ignore'] })
    const over = () => {
      if (telling !== child) return
      telling = undefined
      show()
    }
    telling = child
    child.stdin.on('error', () => {})
    child.on('error', over).on('close', over)
    child.stdin.end(text)
  }

  const hear = async ({ type, properties }) => {
    const [, kind, what] = /^(permission|question)\\.(asked|replied|rejected)$/.exec(type) ?? []
    if (what === 'asked') return asks(kind, properties)
    if (what) return answered(properties.requestID, properties.reply ?? (what === 'rejected' ? 'reject' : 'answer'))
    if (type === 'session.compacted') {
      await sees(properties.sessionID)
      if (properties.sessionID === session) writeFileSync(brief, 'compact\\n', { mode: 0o600 })
      return
    }
    if (type === 'session.status' || type === 'session.idle') {
      const { sessionID, status } = properties
      if (type === 'session.idle' || status.type === 'idle') {
        busy.delete(sessionID)
        for (const [id, each] of asking) if (each.sessionID === sessionID) answered(id)
      } else busy.add(sessionID)
      await sees(sessionID)
    } else if (type === 'session.deleted') {
      busy.delete(properties.info.id)
      if (session === properties.info.id) session = undefined
    } else return
    look()
    show()
  }

  // Errors of the plugin are not the person's concern.
  return {
    event: ({ event }) => void hear(event).catch(() => {}),
    'tool.execute.before': ask,
    'chat.message': (input, output) => addBrief(input, output).catch(() => {}),
  }
}
`

function pluginText(env: Env): string {
  const { command, args } = launcherCommand(['hook', 'wait', '--cli', 'opencode'], env)
  const { args: promptArgs } = launcherCommand(['hook', 'UserPromptSubmit', '--cli', 'opencode'], env)
  const { args: editArgs } = launcherCommand(['hook', 'tool', '--cli', 'opencode'], env)
  const { args: askArgs } = launcherCommand(['hook', 'PermissionRequest', '--cli', 'opencode'], env)
  const { args: doingArgs } = launcherCommand(['hook', 'doing', '--cli', 'opencode'], env)
  const values = {
    LAUNCHER: command,
    ARGS: args,
    PROMPT_ARGS: promptArgs,
    EDIT_ARGS: editArgs,
    ASK_ARGS: askArgs,
    DOING_ARGS: doingArgs,
    HOOKS: join(dataDir(env), 'hooks'),
  }
  return template.replace(/@([A-Z_]+)@/g, (_, name: keyof typeof values) => JSON.stringify(values[name]))
}
