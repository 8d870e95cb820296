// The contract of a program that a person started by hand, as its vendor shows it: what it does, and how a text gets before its model, without anything
// of ours in it. Whether it is an agent, in which workspace and under which name, is decided in daemon/own-agents.ts.

import type { Agent } from '@agent-relay/sdk/protocol'
import type { OpenedMail, OwnSession } from '../broker/waking/own-session-runtime.ts'
import type { Dialog } from './dialog.ts'

export interface OwnProgram {
  /** No other program of its vendor is ever called so. */
  readonly key: string
  readonly directory: string
  /** As its vendor calls it. */
  readonly name: string
  /** The conversation that it shows: continued later, it is the same agent. */
  readonly conversation: string
  /** The process whose children it starts. */
  readonly host?: number
  readonly doing: Agent['doing']
  /** Why messages do not get in by this way now. */
  readonly note?: string
  /** Each message is put to its person first. Hooks of ours in the program ask nobody, so this way is not used where there are some. */
  readonly asksPerson?: boolean
  /** There is a way in at all. */
  readonly isReachable: boolean
  /** A text may be put before its model now: never while it waits for its person. */
  readonly isOpen: boolean
  /** Messages in one text. */
  readonly mailMax?: number
  /** Reads again what it does: a dialog may have come since the last look. */
  look?(): void
  /** Its memory was cut since this was asked last. */
  wasCut?(): boolean
  /** Settles the mail once it is known what became of it, which may be much later. */
  give(mail: OpenedMail, answering: Answering): Promise<void>
  /** What its model said last in a turn that a text began; undefined while that cannot be known. Left out: its model answers in another way. */
  lastWords?(turn: string): Promise<LastWords | undefined>
  /** The question that it waits for, if that can be answered from elsewhere. */
  asked?(): Promise<Dialog | undefined>
}

/** How its model answers: by a tool of ours; else by what its CLI has, or by the last words of its turn. */
export interface Answering {
  hasOurTools: boolean
  sendTool?: string
  /** The agents that are sent its last words. */
  lastWordsTo: readonly string[]
  /** A turn of this id is about to begin. */
  onTurn(turn: string): void
}

/** `words`: undefined where it has said none, such as in a turn that its person has stopped. */
export interface LastWords {
  words: string | undefined
}

/** The programs of one CLI. */
export interface OwnVendor {
  readonly cli: 'claude' | 'codex'
  /** Which of these MCP sessions belongs to which program. */
  match(sessions: readonly OwnSession[]): Matches
  /** Those that a person sits before, and those with a session of ours, by their keys. */
  programs(): ReadonlyMap<string, OwnProgram>
  /** It is this agent now; undefined: none any more. */
  onPlace?(program: OwnProgram, place: OwnPlace | undefined): void
  /** All of it was looked through. */
  onLooked?(): void
  close(): void | Promise<void>
}

/** What a vendor tells. */
export interface OwnListener {
  /** Something may be different. */
  onChange(): void
  /** The program's model has said this to somebody. Resolves to the reason where it could not be sent. */
  onSaid(program: OwnProgram, said: OwnSaid): Promise<string | undefined>
  onTrouble(error: Error): void
}

export interface OwnSaid {
  /** The same again is not sent twice. */
  id: string
  to: string
  body: string
}

export interface Matches {
  /** By the key of the program. */
  sessions: ReadonlyMap<string, OwnSession>
  /** Keys of programs that one of the other sessions may belong to: nobody can tell yet. */
  undecided: ReadonlySet<string>
  /** Why a session belongs to none, by the session's id. */
  notes: ReadonlyMap<string, string>
}

/** Where a program is an agent. */
export interface OwnPlace {
  workspace: string
  agent: string
  /** The session that it acts by: of our MCP server, or one that the daemon has opened for it. */
  session: string
  hasOurTools: boolean
  /** A message wakes it through this way. */
  isWoken: boolean
}
