// The SDK's exports for the dashboard, the web page for people. As for browser.ts, nothing imported here may import `node:`, `ws` or zod.

export { WorkspaceClient } from '../client/client.ts'
export { searchMessages } from '../client/whole-page.ts'
export { RelayError, TimeoutError } from '../errors.ts'
export { websocketConnector } from '../links/websocket.ts'
export type { Approval } from '../protocol/approvals.ts'
export type { EventName, EventOf, RelayEvent } from '../protocol/events.ts'
export { parseJson } from '../protocol/json.ts'
export { daemonName, limits } from '../protocol/limits.ts'
export type { Need } from '../protocol/needs.ts'
export type { CallName, InputOf, OutputOf } from '../protocol/operations.ts'
export { requestKinds } from '../protocol/requests.ts'
export type { Run } from '../protocol/runs.ts'
export type { Spend } from '../protocol/spend.ts'
export { limitRepeatCounts } from '../protocol/terminal.ts'
export type {
  ActionEnvelope,
  ActionInfo,
  Agent,
  Conversation,
  HistoryMessage,
  InboxMessage,
  Message,
  Receipt,
  Worker,
} from '../protocol/words.ts'
export { type AgentState, agentState } from './agent-state.ts'
export { clean, cleanLine } from './clean.ts'
export { splitCommandLine } from './command-words.ts'
export { isAddressedTo } from './mentions.ts'
export { withOwnName } from './own-command.ts'
export { permissionPhrase } from './permission-text.ts'
export { recordingLine } from './recording.ts'
export { sizeText } from './size-text.ts'
export { countText, spendText, usdText } from './spend-text.ts'
export { lastHeardText } from './unreachable-text.ts'
