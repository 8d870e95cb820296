// The doctor's check of hooks, by which messages reach the sessions that people start with each CLI, and of what is missing for them.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readEntry } from '@agent-relay/mcp/careful'
import {
  detectEditors,
  type Editor,
  editorHooks,
  type InstallContext,
  type InstalledHook,
  installContext,
  silentHookEditors,
} from '@agent-relay/mcp/install'
import { launcherPath } from '@agent-relay/mcp/launcher'
import { mcpServerName } from '@agent-relay/sdk/internal/clis'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { HooksFolder } from '../../../machine/hooks-folder.ts'
import { tryWithControl } from '../../control-socket.ts'
import { withTilde } from '../../text.ts'
import { type DoctorCheck, type Finding, noteFinding, okFinding } from './finding.ts'

/** Checks the hooks of those CLIs that have our MCP server: the others get no messages. */
export const hooksCheck: DoctorCheck = async ({ env, cwd }) => {
  const around = installContext(env, cwd)
  const barred = await barrier(env)
  return detectEditors(around).flatMap((editor) => {
    if (!isThere(editor.userFile(around), editor.keyPath, mcpServerName)) return []
    return findingOf(editor, editorHooks(editor, around, false), around, barred) ?? []
  })
}

/** Returns a fault that prevents all hooks from reaching the daemon. Hooks print no errors, so nobody would notice. */
async function barrier(env: Env): Promise<Pick<Finding, 'text' | 'fix'> | undefined> {
  const launcher = launcherPath(env)
  const missing = `the hooks start ${withTilde(launcher, env.HOME)}, which is not there`
  if (!existsSync(launcher)) return { text: missing, fix: 'agent-relay mcp install' }
  const isRunning = await tryWithControl(env, async () => true)
  const folder = join(dataDir(env), 'hooks')
  if (!isRunning || new HooksFolder(folder).runningDaemon()) return undefined
  const text = `the hooks do not find the daemon: ${withTilde(join(folder, 'daemon'), env.HOME)} does not name it`
  return { text, fix: 'agent-relay daemon restart' }
}

function findingOf(
  editor: Editor,
  all: InstalledHook[],
  around: InstallContext,
  barred: Pick<Finding, 'text' | 'fix'> | undefined,
): Finding | undefined {
  const { name, hooks } = editor
  const isFree = silentHookEditors.includes(name)
  const check = `hooks ${name}`
  const fix = `agent-relay mcp install --editor ${name}${isFree ? '' : ' --hooks'}`
  const [first] = all
  if (!first) return noteFinding(check, 'it has none that we know: messages wait until the agent calls a tool')
  const file = withTilde(first.file, around.env.HOME)
  if (!all.some(({ file, keyPath, slot }) => isThere(file, keyPath, slot)))
    // Some hooks have a cost for the person, so they may be missing on purpose.
    return isFree ? noteFinding(check, 'no hooks: messages wait until the agent calls a tool', fix) : undefined
  const stale = all.filter(({ file, keyPath, slot, value }) => !isThere(file, keyPath, slot, value))
  if (stale.length > 0) {
    const names = stale.map(({ keyPath }) => keyPath.at(-1)).join(', ')
    return noteFinding(check, `${file} has no hook as this version writes it for ${names}`, fix)
  }
  const trouble = hooks?.findTrouble?.(all, around)
  if (trouble) {
    const { text, path = '', fix: own = fix } = trouble
    return noteFinding(check, `${file}${text}${withTilde(path, around.env.HOME)}`, own)
  }
  if (barred) return { check, state: 'fault', ...barred }
  return okFinding(check, `${file}: ${hooks?.deliveryText ?? 'messages at its next turn; nothing can wake it'}`)
}

/** Whether the file has an entry at this place, and with this value if one is given. If the file cannot be read, editors.ts reports it. */
function isThere(
  file: string,
  keyPath: readonly string[],
  slot: Parameters<typeof readEntry>[2],
  value?: unknown,
): boolean {
  try {
    const entry = readEntry(file, keyPath, slot)
    return entry !== undefined && (value === undefined || JSON.stringify(entry) === JSON.stringify(value))
  } catch {
    return false
  }
}
