// The exports of the client for our own packages only: the client over any connection, its types and limits, and reading whole pages.

export { WorkspaceClient } from '../client/client.ts'
export type { EventFilter } from '../client/events.ts'
export * from '../client/shapes.ts'
export { listEvents, searchMessages, threadMessages } from '../client/whole-page.ts'
export { type ClientLimits, clientLimits } from '../limits.ts'
export type { Roles, Turn } from '../link.ts'
export { Actions, type Registration } from '../relay/actions.ts'
export { recordingLine } from './recording.ts'
