// What a row and its buttons need to know of the workspace that they belong to.

import type { WorkspaceClient } from '@agent-relay/sdk/internal/page'

export interface Workplace {
  client: Pick<WorkspaceClient, 'call'>
  /** The name of the agent as which the person acts there. */
  me: string
  /** The path of that workspace's page, before the `#` of a link; empty for this page. */
  path: string
  /** The name under which the browser keeps texts and snoozes of that workspace. */
  name: string
  /** Requests that workspace's lists again, after the person has changed something. */
  hint(): void
}
