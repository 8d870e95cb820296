// All limits on which client and daemon must agree. Each name ends with its unit. Separate from the schemas, so that a client can read limits without loading
// zod.

import { pipeLimits } from '../internal/pipe-limits.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** The limits of the protocol. Each name ends with its unit. Limits that a workspace's owner may change are in the policy instead. */
export const limits = {
  /** Size of one message's body, in UTF-8 bytes. Longer texts belong in files. */
  bodyBytesMax: 256 * KiB,
  addressCharsMax: 140,
  /** Size of one line that a client sends. The largest line contains a run's payload of 8 MiB, with room for escaped characters. */
  lineBytesMax: pipeLimits.lineBytesMax,
  /** Size of one request without a payload: over HTTP, or as the first line of a connection on the owner's socket. */
  requestBytesMax: 1 * MiB,
  /** Number of bytes that a network connection may send before it has shown a credential. */
  helloBytesMax: 64 * KiB,
  /**
   * Depth of nested JSON from outside, on any connection and in files. The frames of this protocol nest at most ten levels; the schema or input of an action
   * may be deeper.
   */
  jsonDepthMax: pipeLimits.jsonDepthMax,
  /** Size of one line that the daemon sends. The largest line contains a run's payload, compressed and in base64. */
  answerBytesMax: 12 * MiB,
  /** Total size of the message bodies in one answer about an inbox or a history. The answer says how many further messages there are. */
  pageBytesMax: 512 * KiB,
  pageMessagesMax: 500,
  /** Number of bytes that the daemon buffers for a client that does not read. */
  waitingBytesMax: 2 * MiB,
  /**
   * How long a client may read nothing of what the daemon has buffered for it; then the daemon closes the connection. No message is lost, because none of them
   * counts as read.
   */
  stalledMs: 10_000,
  /** Length of a conversation's name, enough for the largest group with the longest agent names. */
  conversationCharsMax: 4_000,
  /** Length of the preview of the last message, in a list of conversations. */
  lastWordsCharsMax: 200,
  /** Length of a call's id that a client chose. The SDK's own ids have 28 characters. */
  idCharsMax: pipeLimits.idCharsMax,
  /** Length of a file's or directory's path, as on Linux. */
  pathCharsMax: 4_096,
  threadCharsMax: 200,
  groupAgentsMax: 50,
  /** Number of messages of one workspace that may wait in the outbox on this machine (for a shared workspace that cannot be reached). */
  outboxMax: 1_000,
  outboxBytesMax: 16 * MiB,
  /** Number of messages of one agent that may wait in the outbox on this machine. */
  outboxOfSenderMax: 250,
  outboxBytesOfSenderMax: 4 * MiB,
  emojiCharsMax: 32,
  searchCharsMax: 400,
  /** The longest time that a call may wait for a reply: ten minutes. */
  waitMsMax: 600_000,
  waitMsDefault: 30_000,
  /**
   * How often a waiting call looks at the inbox again. That is needed because a wake-up may be lost, and because no wake-up tells that another session has
   * stopped holding a message.
   */
  lookAgainMs: 30_000,
  /** Size of a brief, which summarizes an agent's situation for its model: about 600 tokens at two bytes each (prose has more bytes per token). */
  briefBytesMax: 1_200,
  eventsPageMax: 1_000,
  /** The number of results in a page, if the caller sets no limit. */
  eventsPageDefault: 100,
  searchMessagesDefault: 20,
  threadMessagesDefault: 100,
  /** Size of the input or of the output of an action, as JSON. */
  actionBytesMax: 256 * KiB,
  actionMsDefault: 30_000,
  actionDescriptionCharsMax: 2_000,
  /** Number of worker programs that may run at once in a workspace, so that workers cannot start workers without end. */
  workersMax: 32,
  /** A worker counts as started once its program has run for this long. */
  spawnLiveMs: 1_000,
  /** Number of bytes that a person may type into a worker's terminal in one call. */
  keysBytesMax: 64 * KiB,
  /** Size of a run's contract. The message that gives an agent its contract adds a few words, and must fit into `bodyBytesMax`. */
  contractBytesMax: 252 * KiB,
  /** Size of the summary at the end of a run, in UTF-8 bytes. */
  summaryBytesMax: 64 * KiB,
  /** Size of a run's payload, in UTF-8 bytes before compression. Larger results belong in files. */
  payloadBytesMax: 8 * MiB,
  /** Length of the end of a run's output that other agents and people are shown while the run goes on. */
  previewCharsMax: 2_000,
  runsAskedMax: 1_000,
  /** How long a claim on a file lasts after its holder's last edit of that file. */
  claimMs: 600_000,
  /** Minimum time between two renewals of a claim in the journal, while its holder goes on editing. */
  claimRenewMs: 60_000,
  /** Number of claims in a workspace, number of claims of one agent, and number of files and of directories in one call. */
  claimsMax: 10_000,
  claimsOfAgentMax: 1_000,
  claimFilesMax: pipeLimits.claimFilesMax,
  claimTreesMax: pipeLimits.claimTreesMax,
  /** Number of open requests for notices (an agent is told once about another agent) in a workspace, and number of those of one agent. */
  noticesMax: 500,
  noticesOfAgentMax: 20,
  /** How long an agent does not count as idle after it was shown a message, because it needs a moment to begin. */
  noticeShownMs: 10_000,
  /** Number of open approvals in a workspace, and number of those of one agent. */
  approvalsMax: 1_000,
  approvalsOfAgentMax: 100,
  /** Length of an approval's text in a list, of its whole text, and of the text that a person may add to an answer. */
  approvalInputCharsMax: 4_000,
  approvalWholeCharsMax: 256 * KiB,
  approvalWordsCharsMax: 2_000,
  /** The longest time for which a delegation (an agent's right to answer approvals) can be given: a week. */
  delegationMsMax: 7 * 24 * 60 * 60_000,
  delegationsMax: 100,
  /** The shortest time for which a policy can keep finished things before they are archived: a day, because archiving happens once a day. */
  keepMsMin: 24 * 60 * 60_000,
  delegationStarsMax: 8,
  /** Limits of one run of the built-in agent loop: number of requests to the model, tokens in and out together, and time. */
  runTurnsMax: 200,
  runTokensMax: 2_000_000,
  runMsMax: 4 * 60 * 60_000,
} as const

/** The longest time of a timer in ms, about 24 days: in Node and in browsers, a timer with a longer time fires at once. */
export const timerMsMax = 2 ** 31 - 1

/** The pattern of an action's error code, such as `quota_exceeded`. */
export const actionErrorCodePattern = /^[a-z][a-z0-9_]{0,63}$/

const utf8 = new TextEncoder()

/** Whether `text` has at most `bytesMax` bytes as UTF-8. Compares its length first, which is cheap and enough for most texts. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8.encode(text).length <= bytesMax)
}

/** The sender's name in messages from the daemon; no agent may take it. */
export const daemonName = 'agent-relay'
