// The contract of a program that a person started by hand, as its vendor shows it: what it does, and how a text gets before its model, without
// anything of ours in the program. Whether it is an agent, in which workspace and under which name, is decided in daemon/user-programs.ts.

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
  /** The conversation that the program shows: continued later, it is the same agent. */
  readonly conversation: string
  /** The process that starts the program's child processes. */
  readonly host?: number
  readonly doing: Agent['doing']
  /** The reason why messages cannot be given now. */
  readonly note?: string
  /** The program puts each message to its person first. Our hooks in a program ask nobody, so hooks are used instead where there are some. */
  readonly asksPerson?: boolean
  /** Whether messages can be given at all. */
  readonly isReachable: boolean
  /** Whether a text may be put before the model at this moment: never while the program waits for its person. */
  readonly canTakeText: boolean
  /** Maximum number of messages in one text. */
  readonly messagesMax?: number
  /** Reads the program's state again: a dialog may have come since the last look. */
  look?(): void
  /** Whether the model's memory was compacted since the last call of this method. */
  wasCompacted?(): boolean
  /** Gives the mail and settles it once its outcome is known, perhaps much later. */
  give(mail: MailWithBrief, answering: AnswerPath): Promise<void>
  /** The model's last words in a turn that a text began; undefined while they cannot be known. Left out: the model answers in another way. */
  lastWords?(turn: string): Promise<LastWords | undefined>
  /** The open question of the program, if it can be answered from elsewhere. */
  readDialog?(): Promise<Dialog | undefined>
}

/** The way in which the program's model answers: a tool of ours, else a tool of its CLI, else the last words of its turn. */
export interface AnswerPath {
  hasOurTools: boolean
  sendTool?: string
  /** The agents that are sent the model's last words. */
  lastWordsTo: readonly string[]
  /** Called when a turn with this id is about to begin. */
  onTurn(turn: string): void
}

/** The last words of a turn. `words`: undefined where there are none, such as in a turn that the person has stopped. */
export interface LastWords {
  /** Empty for a turn that ended without a text; unset for a turn that never began, or is too old to be read. */
  words: string | undefined
}

/** The programs of one CLI. */
export interface ProgramSource {
  readonly cli: CliName
  /** Matches these MCP sessions with the programs to which they belong. */
  matchSessions(sessions: readonly UserSession[]): SessionMatches
  /** Programs that a person uses, and programs with a session of ours, by their keys. */
  programs(): ReadonlyMap<string, UserProgram>
  /** Called when a program has become an agent; `place` is undefined when the program has ceased to be one. */
  onMembership?(program: UserProgram, place: ProgramMembership | undefined): void
  /** Called after all programs were looked through. */
  onProgramsChecked?(): void
  close(): void | Promise<void>
}

/** Receives a vendor's events about its programs. */
export interface ProgramListener {
  /** Programs may have come, gone or changed. */
  onChange(): void
  /** The program's model has written a message to an agent. Resolves to the reason if the message could not be sent. */
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
  /** Matched sessions by the key of the program. */
  sessions: ReadonlyMap<string, UserSession>
  /** Keys of programs that one of the other sessions may belong to: nobody can tell yet. */
  undecided: ReadonlySet<string>
  /** Why a session belongs to no program, by the session's id. */
  notes: ReadonlyMap<string, string>
}

/** The workspace and name under which a program is an agent. */
export interface ProgramMembership {
  workspace: string
  agent: string
  /** The session by which the program acts: of our MCP server, or one that the daemon has opened for it. */
  session: string
  hasOurTools: boolean
  /** Whether messages wake the program. */
  isWoken: boolean
}
