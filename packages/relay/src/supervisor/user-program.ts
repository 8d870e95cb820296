// The contract of a program that a person started by hand, as its vendor's interface shows it: its activity, and how its model is given a text,
// without our software in the program. daemon/user-programs.ts decides whether the program is an agent, in which workspace and under which name.

import type { CliName } from '@agent-relay/sdk/internal/clis'
import type { Agent } from '@agent-relay/sdk/protocol'
import type { MailWithBrief, UserSession } from '../broker/waking/user-session-runtime.ts'
import type { Dialog } from './dialog.ts'

export interface UserProgram {
  /** Identifies the program among all programs of its vendor, for ever. */
  readonly key: string
  readonly directory: string
  /** The vendor's name for the program. */
  readonly name: string
  /** The id of the conversation that the program shows. A program that continues this conversation later is the same agent. */
  readonly conversation: string
  /** The id of the process that starts the program's child processes, such as MCP servers. */
  readonly host?: number
  readonly doing: Agent['doing']
  /** Why the program cannot be given messages at present. */
  readonly note?: string
  /** Whether the program asks its person about each message. Our hooks ask nobody, so a program that has our hooks gets its messages from them instead. */
  readonly asksPerson?: boolean
  /** Whether messages can ever be given to this program. */
  readonly isReachable: boolean
  /** Whether a text may be put before the model at this moment: never while the program waits for its person. */
  readonly canTakeText: boolean
  /** Maximum number of messages in one text. */
  readonly messagesMax?: number
  /** Reads the program's state again: a dialog may have come since the last look. */
  look?(): void
  /** Whether the model's memory was compacted since the last call of this method. */
  wasCompacted?(): boolean
  /** Gives the mail to the program. Records the mail as offered, or releases it, once the outcome is known, perhaps much later. */
  give(mail: MailWithBrief, answering: AnswerPath): Promise<void>
  /**
   * Returns the model's last words in a turn that a text began; undefined while they cannot be known. Left out for a program whose model answers in
   * another way.
   */
  lastWords?(turn: string): Promise<LastWords | undefined>
  /** Reads the program's open question. Left out if the question can only be answered in the program itself. */
  readDialog?(): Promise<Dialog | undefined>
}

/** The way in which the program's model answers: a tool of ours, else a tool of its CLI, else the last words of its turn. */
export interface AnswerPath {
  hasOurTools: boolean
  sendTool?: string
  /** The agents to which the model's last words are sent. */
  lastWordsTo: readonly string[]
  /** Called when a turn with this id is about to begin. */
  onTurn(turn: string): void
}

/** What the model said last in a turn. */
export interface LastWords {
  /** Empty if the turn ended without a text; undefined if the turn never began, or is too old to be read. */
  words: string | undefined
}

/** The programs of one CLI. */
export interface ProgramSource {
  readonly cli: CliName
  /** Matches these MCP sessions with the programs to which they belong. */
  matchSessions(sessions: readonly UserSession[]): SessionMatches
  /** Lists the programs that a person uses and the programs with a session of our MCP server, by their keys. */
  programs(): ReadonlyMap<string, UserProgram>
  /** Called when a program has become an agent. `place` is undefined if the program has ceased to be an agent. */
  onMembership?(program: UserProgram, place: ProgramMembership | undefined): void
  /** Called after each check of all programs. */
  onProgramsChecked?(): void
  close(): void | Promise<void>
}

/** Receives a vendor's events about its programs. */
export interface ProgramListener {
  /** Called when programs may have started, ended or changed. */
  onChange(): void
  /** Called when the program's model has written a message to an agent. Resolves to the reason if the message could not be sent. */
  onMessage(program: UserProgram, said: ProgramMessage): Promise<string | undefined>
  onTrouble(error: Error): void
}

export interface ProgramMessage {
  /** Identifies the message, so that a repeat is not sent twice. */
  id: string
  to: string
  body: string
}

export interface SessionMatches {
  /** The sessions that belong to a program, by the program's key. */
  sessions: ReadonlyMap<string, UserSession>
  /** Keys of programs to which a session without a match may belong: that cannot be decided yet. */
  undecided: ReadonlySet<string>
  /** Why a session belongs to no program, by the session's id. */
  notes: ReadonlyMap<string, string>
}

/** The workspace and name under which a program is an agent. */
export interface ProgramMembership {
  workspace: string
  agent: string
  /** The session through which the program acts: that of our MCP server, or one that the daemon has opened for the program. */
  session: string
  hasOurTools: boolean
  /** Whether a message wakes the program. */
  isWoken: boolean
}
