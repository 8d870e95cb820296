// Every limit that both ends of a wire must agree on, with its unit last. Apart from the schemas, so that a client loads no zod for them.

import { pipeLimits } from '../internal/pipe-limits.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** The wire's own limits, each with its unit last. Limits that a workspace owner may change are read from configuration. */
export const limits = {
  /** One message body, in UTF-8 bytes. Larger work products belong in files. */
  bodyBytesMax: 256 * KiB,
  /** One line that a client sends. The largest carries a run's payload of 8 MiB, with room for escaping. */
  lineBytesMax: pipeLimits.lineBytesMax,
  /** One request that carries no payload: over HTTP, or as the first line of a connection on the owner's socket. */
  requestBytesMax: 1 * MiB,
  /** All that a connection over the network may send before it has shown a credential. */
  helloBytesMax: 64 * KiB,
  /** The depth of JSON that others wrote, on any wire and in files. No frame or call of ours is deeper than ten; an action's schema or input may be. */
  jsonDepthMax: pipeLimits.jsonDepthMax,
  /** One line that the daemon sends: the largest is a run's payload again, compressed and in base64. */
  answerBytesMax: 12 * MiB,
  /** An inbox or history answer stops before this many bytes of bodies and says how many more wait. */
  pageBytesMax: 512 * KiB,
  pageMessagesMax: 500,
  /** The bytes that may wait in memory for a reader that does not read. */
  waitingBytesMax: 2 * MiB,
  /** A reader that takes nothing of what waits for this long is cut off; nothing is lost, because it was never counted as read. */
  stalledMs: 10_000,
  /** The name of a conversation: a group of as many as there may be, with their names at their longest. */
  conversationCharsMax: 4_000,
  /** The part of each last message that a list of conversations shows. */
  lastWordsCharsMax: 200,
  /** A call id chosen by the sender; ours are 28 characters. */
  idCharsMax: pipeLimits.idCharsMax,
  /** A path of a file or directory: as long as Linux takes one. */
  pathCharsMax: 4_096,
  threadCharsMax: 200,
  groupAgentsMax: 50,
  /** Sends of one workspace that wait on this machine until they can be sent. */
  outboxMax: 1_000,
  outboxBytesMax: 16 * MiB,
  /** Waiting sends of one agent. */
  outboxOfSenderMax: 250,
  outboxBytesOfSenderMax: 4 * MiB,
  emojiCharsMax: 32,
  searchCharsMax: 400,
  /** A wait for a reply never lasts longer: ten minutes. */
  waitMsMax: 600_000,
  waitMsDefault: 30_000,
  /** The interval at which a wait looks again: a wake-up is a hint and may be lost, and a hold may expire without one. */
  lookAgainMs: 30_000,
  /** A brief: at most 600 tokens, at two bytes a token, which is fewer than prose has. */
  briefBytesMax: 1_200,
  eventsPageMax: 1_000,
  /** Sizes of pages where the caller names none. */
  eventsPageDefault: 100,
  searchMessagesDefault: 20,
  threadMessagesDefault: 100,
  /** An action's input or output, as JSON. */
  actionBytesMax: 256 * KiB,
  actionMsDefault: 30_000,
  actionDescriptionCharsMax: 2_000,
  /** Programs that run at once in a workspace: this stops a worker that hires workers without end. */
  workersMax: 32,
  /** A program that lives this long has started. */
  spawnLiveMs: 1_000,
  /** One write into a worker's terminal by a person. */
  keysBytesMax: 64 * KiB,
  /** A run's contract. Its agent gets it with a few words before it, and both together must fit into a body. */
  contractBytesMax: 252 * KiB,
  /** The summary at a run's end. */
  summaryBytesMax: 64 * KiB,
  /** A run's payload, in UTF-8 bytes before it is compressed. Larger work products belong in files. */
  payloadBytesMax: 8 * MiB,
  /** The end of a running run's output, as others are shown it. */
  previewCharsMax: 2_000,
  runsAskedMax: 1_000,
  /** A claim on a file ends this long after its holder's last edit of it. */
  claimMs: 600_000,
  /** A claim whose holder goes on editing is renewed in the journal once in this time. */
  claimRenewMs: 60_000,
  /** Claims in a workspace, those of one agent among them, and the files and whole directories that one call may name. */
  claimsMax: 10_000,
  claimsOfAgentMax: 1_000,
  claimFilesMax: pipeLimits.claimFilesMax,
  claimTreesMax: pipeLimits.claimTreesMax,
  /** Notices that are awaited in a workspace, and those of one agent among them. */
  noticesMax: 500,
  noticesOfAgentMax: 20,
  /** An agent that was shown a message is not taken for idle within this time: it needs a moment to begin. */
  noticeShownMs: 10_000,
  /** Approvals that are open at once in a workspace, and those of one agent among them. */
  approvalsMax: 1_000,
  approvalsOfAgentMax: 100,
  /** The text of an approval, in a list and as a whole; then the words of its answer. */
  approvalInputCharsMax: 4_000,
  approvalWholeCharsMax: 256 * KiB,
  approvalWordsCharsMax: 2_000,
  /** A delegation ends by itself, at the latest after a week. */
  delegationMsMax: 7 * 24 * 60 * 60_000,
  delegationsMax: 100,
  delegationStarsMax: 8,
  /** Requests to the model, tokens in and out, and time that one run of the built-in loop may use. */
  runTurnsMax: 200,
  runTokensMax: 2_000_000,
  runMsMax: 4 * 60 * 60_000,
} as const

/** The longest time of a timer. One of Node or of a browser that is set for longer, 24 days, fires at once. */
export const timerMsMax = 2 ** 31 - 1

/** The form of an action's error code: `quota_exceeded`. */
export const actionErrorCodePattern = /^[a-z][a-z0-9_]{0,63}$/

const utf8 = new TextEncoder()

/** Whether `text` fits into so many bytes of UTF-8; a cheap bound first, since most bodies are far below the limit. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8.encode(text).length <= bytesMax)
}

/** The name under which the daemon sends messages of its own; no agent may take it. */
export const daemonName = 'agent-relay'
