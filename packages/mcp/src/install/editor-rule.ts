// The contract of an editor or CLI for the installer and the doctor: where its settings are, the form of our entry there, and its hooks. Each has a file in
// editors/.

import type { NameWith } from '@agent-relay/sdk/internal/clis'
import type { Env } from '@agent-relay/sdk/internal/discover'
import type { EntrySlot } from '../careful/index.ts'
import type { ServerCommand } from '../launcher/index.ts'
import type { InstallContext, PathResolver } from './paths.ts'

export type EditorName = NameWith<'editor'>

export interface EditorRule {
  /** The keys of the containers around the entry. */
  readonly keyPath: readonly string[]
  readonly userFile: PathResolver
  /** The project's file; undefined for an editor that reads no servers from a project. */
  readonly projectFile?: PathResolver
  /** Signs of the editor: one of these paths exists if it is installed. */
  readonly detectionPaths: readonly PathResolver[]
  entry(server: ServerCommand): unknown
  /** The entry for a lift in `projectFile`: one server by its address, which every session there shares. */
  liftEntry?(url: string): object
  /** A lift makes `projectFile` where the project has none. Other editors get an entry only where their file exists. */
  readonly makesLiftFile?: true
  /** The user's remaining steps, in user scope or in a project. */
  note?(isProject: boolean): string | undefined
  readonly hooks?: HooksRule
}

/** An editor that the table of CLIs says runs hooks. */
export interface HookedEditor extends EditorRule {
  readonly hooks: HooksRule
}

export interface InstalledHook {
  file: string
  keyPath: readonly string[]
  slot: EntrySlot
  value: unknown
}

export interface HooksRule {
  /** The entries in the settings of the person or of the project; empty if hooks of that kind do not exist. */
  entries(context: InstallContext, isProject: boolean): InstalledHook[]
  /** Writes the file of ours that the entries name. */
  prepare?(env: Env): void
  /** A waiter beside each session wakes it. */
  readonly wakesSessions?: boolean
  /** Permission questions stand in the relay, too. */
  readonly asksPermissions?: boolean
  /** The CLI asks the person about new hooks, so they are installed only on demand. The text tells the person of that question. */
  readonly reviewNote?: string
  /** The way in which messages reach a session with all hooks in place. */
  readonly deliveryText?: string
  /** Why the CLI does not run hooks that are all in place; the doctor puts the name of their file before the text. */
  findTrouble?(hooks: readonly InstalledHook[], context: InstallContext): HooksTrouble | undefined
}

interface HooksTrouble {
  text: string
  /** The path that the text ends with. */
  path?: string
  /** The fix; by default, to install again. */
  fix?: string
}
