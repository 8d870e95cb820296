// The interface by which the installer and `agent-relay doctor` know an editor or CLI: where its settings are, the format of our entry there, and its
// hooks. Each editor has a file in editors/.

import type { CliNameWith } from '@agent-relay/sdk/internal/clis'
import type { Env } from '@agent-relay/sdk/internal/discover'
import type { EntrySlot } from '../careful/index.ts'
import type { ServerCommand } from '../launcher/index.ts'
import type { InstallContext, PathResolver } from './paths.ts'

export type EditorName = CliNameWith<'editor'>

export interface EditorRule {
  /** The keys that lead to the object which contains our entry. */
  readonly keyPath: readonly string[]
  readonly userFile: PathResolver
  /** The settings file in a project; undefined for an editor that reads no MCP servers from a project. */
  readonly projectFile?: PathResolver
  /** Signs of the editor: one of these paths exists if it is installed. */
  readonly detectionPaths: readonly PathResolver[]
  entry(server: ServerCommand): unknown
  /** The entry for a lift (`agent-relay lift`) in `projectFile`: one MCP server with its URL, which all sessions in the project share. */
  liftEntry?(url: string): object
  /** Whether a lift creates a missing `projectFile`. For other editors it adds its entry only to an existing file. */
  readonly makesLiftFile?: true
  /** What the user still has to do after an installation, for the user or in a project. */
  note?(isProject: boolean): string | undefined
  readonly hooks?: HooksRule
}

/** An editor that runs hooks, as the table of CLIs says. */
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
  /** The hooks' entries in the user's or the project's settings; empty if the editor reads no hooks there. */
  entries(context: InstallContext, isProject: boolean): InstalledHook[]
  /** Writes the file to which the entries refer, such as our plugin for opencode. */
  prepare?(env: Env): void
  /** Whether an idle session is woken for messages, by a waiter (a process beside the session). */
  readonly wakesSessions?: boolean
  /** Whether the CLI's questions for permission can be answered in the relay, too. */
  readonly asksPermissions?: boolean
  /** Set if the CLI asks its user to review new hooks: they are installed only on demand then. The text tells the user of that question. */
  readonly reviewNote?: string
  /** How messages reach a session that has all hooks. */
  readonly deliveryText?: string
  /** Tells why the CLI does not run its hooks, although all are installed. The doctor prints the path of their file before this text. */
  findTrouble?(hooks: readonly InstalledHook[], context: InstallContext): HooksTrouble | undefined
}

interface HooksTrouble {
  text: string
  /** A path to print after the text. */
  path?: string
  /** The fix; by default, to install again. */
  fix?: string
}
