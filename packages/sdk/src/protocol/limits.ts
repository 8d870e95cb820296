// All limits on which client and daemon must agree; each name ends with its unit. Separate from the schemas, so that a client loads no zod for them.

import { pipeLimits } from '../internal/pipe-limits.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** The limits of the protocol; each name ends with its unit. Limits that a workspace's owner may change are in the configuration instead. */
export const limits = {
  /** The body of one message, in UTF-8 bytes. Larger work products belong in files. */
  bodyBytesMax: 256 * KiB,
  addressCharsMax: 140,
  /** One line that a client sends. The largest line contains a run's payload of 8 MiB, with room for escaping. */
  lineBytesMax: pipeLimits.lineBytesMax,
  /** One request without a payload: over HTTP, or as the first line of a connection on the owner's socket. */
  requestBytesMax: 1 * MiB,
  /** All bytes that a network connection may send before it has shown a credential. */
  helloBytesMax: 64 * KiB,
  /**
   * How deep JSON from outside may nest, on any connection and in files. Frames and calls of ours nest at most ten deep; the schema or input of an action may
   * nest deeper.
   */
  jsonDepthMax: pipeLimits.jsonDepthMax,
  /** One line that the daemon sends: the largest line contains a run's payload, compressed and in base64. */
  answerBytesMax: 12 * MiB,
  /** The bytes of message bodies in one answer about an inbox or a history; the answer says how many further messages wait. */
  pageBytesMax: 512 * KiB,
  pageMessagesMax: 500,
  /** How many bytes the daemon keeps in memory for a client that does not read. */
  waitingBytesMax: 2 * MiB,
  /** How long a client may take nothing of what waits for it before the daemon cuts it off. No message is lost, because none was counted as read. */
  stalledMs: 10_000,
  /** The name of a conversation: a name this long fits the largest group with the longest agent names. */
  conversationCharsMax: 4_000,
  /** The part of each conversation's last message that a list of conversations shows. */
  lastWordsCharsMax: 200,
  /** An id that a client chose for a call; our own ids have 28 characters. */
  idCharsMax: pipeLimits.idCharsMax,
  /** The path of a file or directory: Linux takes paths up to this length. */
  pathCharsMax: 4_096,
  threadCharsMax: 200,
  groupAgentsMax: 50,
  /** The messages of one workspace that wait in the outbox on this machine until they can be sent. */
  outboxMax: 1_000,
  outboxBytesMax: 16 * MiB,
  /** The messages of one agent that wait in the outbox on this machine until they can be sent. */
  outboxOfSenderMax: 250,
  outboxBytesOfSenderMax: 4 * MiB,
  emojiCharsMax: 32,
  searchCharsMax: 400,
  /** The longest wait for a reply, ten minutes. */
  waitMsMax: 600_000,
  waitMsDefault: 30_000,
  /** How often a waiting call looks again at the inbox: a wake-up is only a hint and may be lost, and a held message may become free without one. */
  lookAgainMs: 30_000,
  /** A brief, the summary of an agent's own situation: at most 600 tokens, at two bytes per token (prose has more). */
  briefBytesMax: 1_200,
  eventsPageMax: 1_000,
  /** The sizes of pages if the caller names none. */
  eventsPageDefault: 100,
  searchMessagesDefault: 20,
  threadMessagesDefault: 100,
  /** The input or output of an action, as JSON. */
  actionBytesMax: 256 * KiB,
  actionMsDefault: 30_000,
  actionDescriptionCharsMax: 2_000,
  /** How many worker programs may run at once in a workspace; this stops a worker that hires workers without end. */
  workersMax: 32,
  /** A worker's program that lives this long counts as started. */
  spawnLiveMs: 1_000,
  /** What a person may type into a worker's terminal at once. */
  keysBytesMax: 64 * KiB,
  /** The contract of a run. Its agent gets the contract after a few words of the daemon, and both together must fit into one message body. */
  contractBytesMax: 252 * KiB,
  /** The summary that is written at the end of a run, in UTF-8 bytes. */
  summaryBytesMax: 64 * KiB,
  /** The payload of a run, in UTF-8 bytes before compression. Larger work products belong in files. */
  payloadBytesMax: 8 * MiB,
  /** How much of the end of a running run's output others are shown. */
  previewCharsMax: 2_000,
  runsAskedMax: 1_000,
  /** How long after its holder's last edit of the file a claim ends. */
  claimMs: 600_000,
  /** How often the journal renews a claim whose holder goes on editing. */
  claimRenewMs: 60_000,
  /** The claims in a workspace, the claims of one agent, and the files and whole directories that one call may name. */
  claimsMax: 10_000,
  claimsOfAgentMax: 1_000,
  claimFilesMax: pipeLimits.claimFilesMax,
  claimTreesMax: pipeLimits.claimTreesMax,
  /** The open notices (an agent is told once about another agent) in a workspace, and those of one agent. */
  noticesMax: 500,
  noticesOfAgentMax: 20,
  /** How long after it was shown a message an agent does not count as idle: it needs a moment to begin. */
  noticeShownMs: 10_000,
  /** The open approvals in a workspace, and those of one agent. */
  approvalsMax: 1_000,
  approvalsOfAgentMax: 100,
  /** The text of an approval in a list, its whole text, and the words in its answer. */
  approvalInputCharsMax: 4_000,
  approvalWholeCharsMax: 256 * KiB,
  approvalWordsCharsMax: 2_000,
  /** The longest time until a delegation (an agent's right to answer approvals) ends by itself: a week. */
  delegationMsMax: 7 * 24 * 60 * 60_000,
  delegationsMax: 100,
  /** The shortest time that a policy keeps what is over: a day, since what is older goes once a day. */
  keepMsMin: 24 * 60 * 60_000,
  delegationStarsMax: 8,
  /** How many requests to the model, how many tokens in and out, and how much time one run of the built-in agent loop may use. */
  runTurnsMax: 200,
  runTokensMax: 2_000_000,
  runMsMax: 4 * 60 * 60_000,
} as const

/** The longest time of a timer, about 24 days: in Node and in browsers, a timer that is set for longer fires at once. */
export const timerMsMax = 2 ** 31 - 1

/** The form of an action's error code, such as `quota_exceeded`. */
export const actionErrorCodePattern = /^[a-z][a-z0-9_]{0,63}$/

const utf8 = new TextEncoder()

/** Whether `text` fits into `bytesMax` bytes of UTF-8. A cheap bound is tested first, since most bodies are far below the limit. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8.encode(text).length <= bytesMax)
}

/** The name under which the daemon sends messages of its own; no agent may take it. */
export const daemonName = 'agent-relay'
