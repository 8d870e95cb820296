// `workspace restore`: restores workspaces of a backup into this data directory, with or without a running daemon. export.ts places imported workspaces in the
// same way.

import { accessSync, constants, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { listText } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { credentialsPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import type { Link } from '@agent-relay/sdk/wire'
import { RefusalError } from '../../../core/refusal-error.ts'
import type { Backup, PlaceableWorkspace, PreparedRestore } from '../../../daemon/backup.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import {
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
  type OptionValues,
} from '../../command.ts'
import { nextCommandId, tryConnectControl } from '../../control-socket.ts'
import { describeFailure } from '../../exit.ts'
import type { Printer } from '../../print.ts'
import { localOption } from '../../shared-name.ts'
import { countedText, dateTimeText } from '../../text.ts'
import { chooseNames, printBackedUp, refuseMemoryRelay } from './backup.ts'

const restoreOptions = {
  list: { flags: '--list', text: 'only say what the backup holds' },
  keepKeys: {
    flags: '--keep-keys',
    text: 'keep the keys that are in it, also of workspaces that are new to this machine: only for a file that you made',
  },
  local: localOption,
} satisfies CliOptions
type RestoreOptions = OptionValues<typeof restoreOptions>

export const restore: NamedCommand<typeof restoreOptions> = {
  name: 'restore',
  args: '<file> [names...]',
  text: 'take all workspaces of a backup, or those that are named, into this data directory',
  options: restoreOptions,
  examples: [
    'agent-relay workspace restore ~/relay.tar',
    'agent-relay workspace restore ~/relay.tar --list',
    'agent-relay workspace restore app.tar app --keep-keys',
  ],
  actsForNoAgent: true,
  run: runRestore,
}

async function runRestore({ args, options, env, print }: CommandContext<typeof restoreOptions>): Promise<void> {
  const [file = '', ...wanted] = args
  refuseMemoryRelay(env)
  const path = readableFile(file)
  const { readBackup } = await import('../../../daemon/backup.ts')
  const held = readBackup(path)
  const names = chooseNames(
    held.workspaces.map(({ name }) => name),
    wanted,
    'The backup has no workspace',
  )
  const workspaces = held.workspaces.filter(({ name }) => names.includes(name))
  const found = workspaces.map(({ key, start, ...rest }) => ({ ...rest, withKey: key !== undefined }))
  if (!print.isJson) {
    print.say(`A backup of ${dateTimeText(held.at)}, made by agent-relay ${held.version}:`)
    await printBackedUp(print, found)
  }
  if (options.list) return print.isJson ? void (await print.json({ path, at: held.at, workspaces: found })) : undefined
  const { restored, stop } = await restoreAll({ ...held, workspaces }, { env, print, options })
  const failure = stop && (await describeFailure(stop.error))
  if (print.isJson) {
    const error = failure && { code: failure.code, message: print.typed(failure.text), workspace: stop.name }
    await print.json({ path, at: held.at, workspaces: restored, error })
  } else for (const each of restored) sayRestored(print, each)
  if (stop && failure) {
    const again = `agent-relay workspace restore ${shellQuote(path)} ${stop.missing.join(' ')}${givenFlags(options)}`
    throw new CommandError(stoppedText(stop, failure.text, again), failure.exit, { isPrintedAsJson: true })
  }
}

/** Returns the given options, for a command that repeats this one. */
function givenFlags({ keepKeys, local }: RestoreOptions): string {
  return `${keepKeys ? ' --keep-keys' : ''}${local ? ' --local' : ''}`
}

/** The error that stopped a restore after at least one workspace was in its place. */
interface RestoreStop {
  name: string
  error: unknown
  /** Whether the workspace `name` is in its place: then the error came from a later step. */
  isThere: boolean
  /** The workspaces that were not restored, in the order of the backup. */
  missing: string[]
}

interface RestoreOutcome {
  restored: Restored[]
  stop?: RestoreStop
}

function stoppedText({ name, isThere, missing }: RestoreStop, why: string, again: string): string {
  const what = isThere ? `is in its place, but then this failed` : 'is not restored'
  const rest = missing.length === 0 ? '' : `\nWhat was restored stays. The rest, once this is fixed: ${again}`
  return `Workspace ${name} ${what}: ${why}${rest}`
}

interface Restored extends Pick<PreparedRestore, 'isKeyNew' | 'reset' | 'worktrees' | 'wasShared'> {
  name: string
  id: string
  messages: number
}

function sayRestored(print: Printer, { name, messages, isKeyNew, reset, worktrees, wasShared }: Restored): void {
  const key = isKeyNew ? ` It has a new key: agent-relay workspace key ${name}` : ''
  print.say(`Workspace ${name} is restored, with ${countedText(messages, 'message')}.${key}`)
  const { tokens, policy } = reset
  const revoked =
    tokens > 0 ? [`${countedText(tokens, 'token')} of its agents ${tokens === 1 ? 'was' : 'were'} revoked`] : []
  const asNew = policy.length > 0 ? [`its policy is that of a new one in ${listText(policy)}`] : []
  const lost = [...revoked, ...asNew].join(', and ')
  if (lost !== '') print.say(`  No key of yours opened it, so ${lost}.`)
  if (worktrees > 0)
    print.say(
      `  It no longer looks after ${countedText(worktrees, 'worktree')} of its workers. What is on this disk stays: git worktree list`,
    )
  if (wasShared)
    print.say('  It was shared with other machines. This copy lives on this one alone, and they go on without it.')
}

interface Restoring {
  env: Env
  print: Printer
  options: RestoreOptions
}

/** Prepares the folders of all workspaces before the first one is put into its place. Folders that are left over are deleted, since they contain keys. */
async function restoreAll(held: Backup, { env, print, options }: Restoring): Promise<RestoreOutcome> {
  const { isUnusedHome, isWorkspacePlaced, prepareRestore } = await import('../../../daemon/backup.ts')
  const directory = new DataDirectory(dataDir(env))
  const keys = new CredentialsFile(credentialsPath(env))
  const keepsKey = options.keepKeys === true
  return withWorkspacePlacer(env, directory, { local: options.local }, async (place) => {
    const taken = held.workspaces.filter(({ name }) => directory.hasWorkspace(name) && !isUnusedHome(directory, name))
    if (taken.length > 0) throw areTaken(held, new Set(taken.map(({ name }) => name)), options)
    const all: (Restored & PreparedRestore)[] = []
    try {
      for (const kept of held.workspaces) {
        const { name, messages } = kept
        print.progress(`restoring ${name}`)
        const trust = { ownersKey: keys.keyOf(kept.id), keepsKey }
        all.push({ name, messages, ...(await prepareRestore(held, kept, directory, trust)) })
      }
      print.progress()
      return await placeAll(all, place, ({ name, id }) => isWorkspacePlaced(directory, name, id))
    } finally {
      // Folders that were put into place have moved, so only the others are deleted here.
      for (const { folder } of all) rmSync(folder, { recursive: true, force: true })
    }
  })
}

/** Puts the workspaces into their places, one by one. If one fails, those before it stay: agents may be in them already. */
async function placeAll(
  all: (Restored & PreparedRestore)[],
  place: PlaceWorkspace,
  isPlaced: (one: PreparedRestore & Restored) => boolean,
): Promise<RestoreOutcome> {
  for (const [i, prepared] of all.entries()) {
    try {
      await place(prepared.name, prepared)
    } catch (error) {
      const isThere = isPlaced(prepared)
      if (i === 0 && !isThere) throw error
      const missing = all.slice(isThere ? i + 1 : i).map(({ name }) => name)
      return { restored: all.slice(0, i).map(withoutFolder), stop: { name: prepared.name, error, isThere, missing } }
    }
  }
  return { restored: all.map(withoutFolder) }
}

/** Returns a restored workspace without its key and the path of its prepared folder, for printing. */
function withoutFolder({ folder: _, key: __, ...restored }: Restored & PreparedRestore): Restored {
  return restored
}

type PlaceWorkspace = (name: string, prepared: PlaceableWorkspace) => Promise<void>

/**
 * Calls `work` with a function that puts a workspace into its place: by the running daemon, or if none runs, under the daemon's lock, so that none can start
 * meanwhile. If a workspace is refused, its folder is deleted.
 */
export async function withWorkspacePlacer<T>(
  env: Env,
  directory: DataDirectory,
  { local: isLocal }: { local?: boolean },
  work: (place: PlaceWorkspace) => Promise<T>,
): Promise<T> {
  const link: Link | undefined = await tryConnectControl(env)
  const cleanly =
    (place: PlaceWorkspace): PlaceWorkspace =>
    (name, prepared) =>
      place(name, prepared).catch((error) => {
        rmSync(prepared.folder, { recursive: true, force: true })
        throw error
      })
  if (link) {
    const place: PlaceWorkspace = async (workspace, { folder, key }) => {
      await link.call('workspace.place', { workspace, from: folder, key, local: isLocal }, nextCommandId('c'))
    }
    return work(cleanly(place)).finally(() => link.close())
  }
  const { acquireDaemonLock } = await import('../../../daemon/inspect.ts')
  const { placeWithoutDaemon } = await import('../../../daemon/backup.ts')
  const keys = new CredentialsFile(credentialsPath(env))
  const lock = await acquireDaemonLock(directory.path)
  if (!lock) throw new CommandError('The daemon is starting or stopping. Try again in a moment.', exitCodes.busy)
  try {
    return await work(
      cleanly(async (name, prepared) => {
        // Without a daemon the cluster is not asked: the check uses the names that it gave last.
        if (!isLocal && directory.lastSharedNames().includes(name))
          throw new RefusalError('workspace.name-shared', { workspace: name, placing: true, unchecked: true })
        placeWithoutDaemon(directory, keys, name, prepared)
      }),
    )
  } finally {
    lock.release()
  }
}

function areTaken({ path, workspaces }: Backup, taken: Set<string>, options: RestoreOptions): CommandError {
  const free = workspaces.flatMap(({ name }) => (taken.has(name) ? [] : name))
  const others =
    free.length > 0
      ? ` The others: agent-relay workspace restore ${shellQuote(path)} ${free.join(' ')}${givenFlags(options)}`
      : ''
  const [first] = taken
  return new CommandError(
    `${listText([...taken])} ${taken.size === 1 ? 'is' : 'are'} here already, and nothing is overwritten. ` +
      `To replace one: agent-relay workspace remove ${first}${others}`,
    exitCodes.refused,
  )
}

/** Returns the absolute path of a file that exists and is a regular one: reading a fifo or a device might never end. */
export function readableFile(name: string): string {
  const path = resolve(name)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) throw new CommandError(`${path} is a directory. Name a file in it.`, exitCodes.refused)
  if (found?.isFile() !== true) throw new CommandError(`There is no file ${path}.`, exitCodes.refused)
  try {
    accessSync(path, constants.R_OK)
  } catch {
    throw new CommandError(
      `You may not read ${path}. It is for its owner alone: ask them, or chown it.`,
      exitCodes.denied,
    )
  }
  return path
}
