// The parts of the client that our own packages use beyond the public ones: the client over any link, its shapes and limits, and whole pages.

export { WorkspaceClient } from '../client/client.ts'
export type { EventFilter } from '../client/events.ts'
export * from '../client/shapes.ts'
export { listEvents, searchMessages, threadMessages } from '../client/whole-page.ts'
export { type ClientLimits, clientLimits } from '../limits.ts'
export type { Roles, Turn } from '../link.ts'
export { Actions, type Registration } from '../relay/actions.ts'
export { recordingLine } from './recording.ts'
