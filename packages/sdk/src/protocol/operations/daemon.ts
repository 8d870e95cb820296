// Operations on a workspace as a whole, and those of the daemon's own socket.

import { z } from 'zod'
import { Policy, WorkspaceName } from '../words.ts'
import type { OperationTable } from './rule.ts'

const WorkspaceStatus = z.object({
  workspace: z.string(),
  workspaceId: z.string(),
  socketPath: z.string(),
  /** Where HTTP is served, if it is. */
  url: z.string().optional(),
  daemonVersion: z.string(),
  uptimeMs: z.number(),
  agent: z.string().optional(),
  agents: z.number(),
  sessions: z.number(),
  messages: z.number(),
  seq: z.number(),
  /** How late the event loop ran, over the last minute. */
  lagMs: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  residentMb: z.number(),
})
export type WorkspaceStatus = z.infer<typeof WorkspaceStatus>

const WorkspaceEntry = z.object({
  name: z.string(),
  id: z.string().optional(),
  open: z.boolean(),
  socketPath: z.string(),
  path: z.string(),
})
export type WorkspaceEntry = z.infer<typeof WorkspaceEntry>

export const daemonOperations = {
  'workspace.status': {
    kind: 'query',
    who: 'anyone',
    summary: 'Version, uptime, counts and event-loop lag.',
    input: z.object({}),
    output: WorkspaceStatus,
  },
  'workspace.policy': {
    kind: 'query',
    who: 'agent',
    summary: 'What this workspace allows: who may see whose terminal, which other workspaces may write here.',
    input: z.object({}),
    output: Policy,
  },
  'workspace.set-policy': {
    kind: 'command',
    who: 'holder',
    summary: 'Change the policy; a part that is left out stays as it is.',
    input: Policy.partial(),
    output: Policy,
  },
  'workspace.open': {
    kind: 'command',
    who: 'owner',
    summary: 'Open a workspace in this daemon, making it if it is new. `directory` is the one it is named after.',
    input: z.object({ workspace: WorkspaceName, directory: z.string().max(4096).optional() }),
    output: WorkspaceEntry.extend({ created: z.boolean() }),
  },
  'workspace.create': {
    kind: 'command',
    who: 'owner',
    summary: 'Make a workspace and answer its key, this once.',
    input: z.object({ workspace: WorkspaceName }),
    output: WorkspaceEntry.extend({ key: z.string() }),
  },
  'workspace.remove': {
    kind: 'command',
    who: 'owner',
    summary:
      'Remove a workspace with everything in it, for good. Refused while somebody is connected, unless `force` is set.',
    input: z.object({ workspace: WorkspaceName, force: z.boolean().optional() }),
    output: z.object({ workspace: z.string(), path: z.string() }),
  },
  'workspace.rotate-key': {
    kind: 'command',
    who: 'owner',
    summary: 'Give a workspace a new key and answer it. The former one ends, with every session that has shown it.',
    input: z.object({ workspace: WorkspaceName }),
    output: WorkspaceEntry.extend({ key: z.string() }),
  },
  'workspace.find': {
    kind: 'query',
    who: 'owner',
    summary: 'The open workspace that a key belongs to.',
    input: z.object({ key: z.string().min(1).max(200) }),
    output: WorkspaceEntry,
  },
  'workspace.list': {
    kind: 'query',
    who: 'owner',
    summary: 'The workspaces of this data directory.',
    input: z.object({}),
    output: z.object({ workspaces: z.array(WorkspaceEntry) }),
  },
  'daemon.status': {
    kind: 'query',
    who: 'owner',
    summary: 'Version, process id, uptime and open workspaces of the daemon.',
    input: z.object({}),
    output: z.object({
      version: z.string(),
      pid: z.number(),
      uptimeMs: z.number(),
      dataDir: z.string(),
      /** The HTTP port as it is, so that a restart can keep it. */
      http: z
        .object({
          url: z.string(),
          port: z.number(),
          host: z.string().optional(),
          mayBeRemote: z.boolean().optional(),
          isOpen: z.boolean().optional(),
          allowOrigins: z.array(z.string()).optional(),
          home: z.string().optional(),
        })
        .optional(),
      residentMb: z.number(),
      lagMs: WorkspaceStatus.shape.lagMs,
      workspaces: z.array(WorkspaceEntry),
    }),
  },
  'page.link': {
    kind: 'command',
    who: 'owner',
    summary: 'A link to the page for people, with a code that works once and not for long.',
    input: z.object({ workspace: WorkspaceName }),
    /** Without `until` it needs no code: the relay is open. */
    output: z.object({ url: z.string(), until: z.string().optional() }),
  },
  'page.logout': {
    kind: 'command',
    who: 'owner',
    summary: 'End every login of the page: codes, cookies and open connections.',
    input: z.object({}),
    output: z.object({ ended: z.number() }),
  },
  'daemon.stop': {
    kind: 'command',
    who: 'owner',
    summary: 'Answer what is in flight, then stop.',
    input: z.object({}),
    output: z.object({ stopping: z.literal(true) }),
  },
} satisfies OperationTable
