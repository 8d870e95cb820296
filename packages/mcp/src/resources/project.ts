// relay://project: which workspace this is, as JSON.

import type { ToolClient } from '../client.ts'

export const projectResource = {
  uri: 'relay://project',
  name: 'Project Info',
  description: 'The workspace, its socket and the daemon version',
  mimeType: 'application/json',
}

export async function getProjectResource(client: Pick<ToolClient, 'getStatus'>): Promise<string> {
  const { project, socketPath, daemonVersion } = await client.getStatus()
  return JSON.stringify({ project, socketPath, daemonVersion }, null, 2)
}
