// Operations on a workspace as a whole, and the operations of the daemon's control socket.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { Policy } from '../policy.ts'
import { WorkspaceName } from '../words.ts'
import { FileBytes, WorkspaceEntry } from '../workspace-entry.ts'
import type { OperationTable } from './rule.ts'

const WorkspaceStatus = z.object({
  workspace: z.string(),
  workspaceId: z.string(),
  socketPath: z.string(),
  /** The daemon's HTTP address. Unset if it serves no HTTP. */
  url: z.string().optional(),
  daemonVersion: z.string(),
  uptimeMs: z.number(),
  agent: z.string().optional(),
  agents: z.number(),
  sessions: z.number(),
  messages: z.number(),
  seq: z.number(),
  /** The delay of the daemon's event loop in ms (median, 99th percentile, maximum), over the last minute. */
  lagMs: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  residentMb: z.number(),
  keepMs: z.number().optional().describe('How long the policy keeps finished events; unset: for ever.'),
  bytes: FileBytes.optional(),
  /** The number of messages in the outbox: they wait on this machine until the shared workspace can be reached. */
  queued: z.number().optional(),
})
export type WorkspaceStatus = z.infer<typeof WorkspaceStatus>

/** Whether to use the workspace of this name on this machine alone, even if the cluster has a shared workspace of the same name. */
const Local = z.boolean().optional()
/** An absolute path on the daemon's machine. */
const Path = z.string().min(1).max(limits.pathCharsMax)

export const daemonOperations = {
  'workspace.status': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    needsNoStoredAgent: 'always',
    summary: 'Version, uptime, counts and event-loop lag.',
    input: z.object({}),
    output: WorkspaceStatus,
  },
  'workspace.policy': {
    kind: 'query',
    who: 'agent',
    network: 'token',
    summary:
      'What this workspace allows: who may see whose terminal, which workspaces may write here, what a token may start.',
    input: z.object({}),
    output: Policy,
  },
  'workspace.set-policy': {
    kind: 'command',
    who: 'holder',
    network: 'key',
    summary: 'Change the policy; a part that is left out stays as it is.',
    input: Policy.partial().extend({
      keepMs: z.union([z.literal('forever'), Policy.shape.keepMs.unwrap()]).optional(),
    }),
    output: Policy,
  },
  'workspace.open': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Open a workspace in this daemon, making it if it is new, unless `mustExist` is set. `directory` is the one it is named after.',
    input: z.object({
      workspace: WorkspaceName,
      directory: z.string().max(limits.pathCharsMax).optional(),
      mustExist: z.boolean().optional(),
      local: Local,
    }),
    output: WorkspaceEntry.extend({ created: z.boolean() }),
  },
  'workspace.create': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'Make a workspace and return its key, only this once.',
    input: z.object({ workspace: WorkspaceName, local: Local }),
    output: WorkspaceEntry.extend({ key: z.string() }),
  },
  'workspace.close': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'Close a workspace until it is opened again. Refused while somebody is connected, unless `force` is set.',
    input: z.object({ workspace: WorkspaceName, force: z.boolean().optional() }),
    output: WorkspaceEntry,
  },
  'workspace.remove': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Remove a workspace with everything in it, for good. Refused while somebody is connected, unless `force` is set.',
    input: z.object({ workspace: WorkspaceName, force: z.boolean().optional() }),
    output: z.object({ workspace: z.string(), path: z.string() }),
  },
  'workspace.share': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Move a workspace into the cluster of this machine, so that others can open it too. Its entries keep their numbers. Refused while somebody is connected, unless `force` is set.',
    input: z.object({ workspace: WorkspaceName, force: z.boolean().optional() }),
    output: WorkspaceEntry.extend({ entries: z.number() }),
  },
  'workspace.unshare': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Stop sharing a workspace: it is on this machine alone again, and the others keep their copies, for reading. Refused while somebody is connected, unless `force` is set.',
    input: z.object({ workspace: WorkspaceName, force: z.boolean().optional() }),
    output: WorkspaceEntry.extend({ entries: z.number() }),
  },
  'workspace.hand-over': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'Give a shared workspace that this machine owns to another machine of its cluster.',
    input: z.object({ workspace: WorkspaceName, machine: z.string().max(limits.idCharsMax) }),
    output: z.object({ workspace: z.string(), machine: z.string() }),
  },
  'workspace.reconcile': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'After the database of a shared workspace has lost acknowledged entries: store those of this machine again, and continue. If nothing was lost, nothing is closed; otherwise it is refused while somebody is connected, unless `force` is set.',
    input: z.object({ workspace: WorkspaceName, force: z.boolean().optional() }),
    output: WorkspaceEntry.extend({
      lost: z.number().describe('Entries that this machine had and the database had not.'),
      restored: z.number().describe('Of these, those that this machine has stored again.'),
      others: z.number().describe('Of these, those of other machines, which bring back their own.'),
      left: z.number().describe('Of these, those of this machine that were not brought back.'),
      kept: z.string().optional().describe('The former copy, as it was.'),
    }),
  },
  'workspace.rotate-key': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Give a workspace a new key and return it. The old key stops working, and every session that has shown it ends.',
    input: z.object({ workspace: WorkspaceName }),
    output: WorkspaceEntry.extend({ key: z.string() }),
  },
  'workspace.copy': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'Copy the database of a workspace, as of one commit, into a new file, while it is in use.',
    input: z.object({ workspace: WorkspaceName, to: Path }),
    output: z.object({ workspace: z.string(), path: z.string() }),
  },
  'workspace.prune': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Move old, finished events of a workspace into a compressed file in its folder `archive`, while it is in use. Unread messages, open questions and everything that runs stay. `dryRun`: only count. `delete`: delete them without an archive.',
    input: z.object({
      workspace: WorkspaceName,
      olderMs: z.number().int().min(0),
      dryRun: z.boolean().optional(),
      delete: z.boolean().optional(),
    }),
    output: z.object({
      workspace: z.string(),
      path: z.string(),
      through: z.number().describe('The last entry that is older.'),
      messages: z.number(),
      events: z.number().describe('Those of these messages, and all other finished events.'),
      archive: z
        .object({ file: z.string(), bytes: z.number() })
        .optional()
        .describe('The file in the folder `archive` of the path.'),
      held: z
        .array(
          z.object({
            conversation: z.string(),
            n: z.number(),
            messages: z.number(),
            unreadBy: z.array(z.string()),
            isAsked: z.boolean(),
          }),
        )
        .describe('Where older messages stay: from which one on, and who has not read that one or owes an answer.'),
      before: FileBytes.optional(),
      after: FileBytes.optional(),
      stuck: z
        .number()
        .optional()
        .describe('Unused bytes of an older database file, which it gives back when nobody uses the workspace.'),
      ended: z
        .boolean()
        .optional()
        .describe('Whether the caller has stopped it early. What was pruned until then stays pruned.'),
    }),
  },
  'workspace.place': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary:
      'Open a workspace from a folder that `agent-relay workspace restore` has prepared in the data directory. Refused if there is a workspace of this name, unless it is `home` and was never used.',
    input: z.object({ workspace: WorkspaceName, from: Path, key: z.string().min(1).max(200), local: Local }),
    output: WorkspaceEntry,
  },
  'workspace.find': {
    kind: 'query',
    who: 'owner',
    network: 'never',
    summary: 'The open workspace that a key belongs to.',
    input: z.object({ key: z.string().min(1).max(200) }),
    output: WorkspaceEntry,
  },
  'workspace.list': {
    kind: 'query',
    who: 'owner',
    network: 'never',
    summary: 'The workspaces of this data directory, and those of its cluster that nobody has opened here.',
    input: z.object({}),
    output: z.object({
      workspaces: z.array(WorkspaceEntry),
      /** Why the cluster could not be asked for the workspaces that exist only there. Unset if the cluster answered or was not needed. */
      clusterFault: z.string().optional(),
    }),
  },
  'workspace.overview': {
    kind: 'query',
    who: 'owner',
    network: 'never',
    summary:
      'What happens in each workspace that is open, for a person and not for an agent: who is connected, and how much waits for the person. It opens no workspace.',
    input: z.object({}),
    output: z.object({
      workspaces: z.array(
        z.object({
          name: z.string(),
          atRest: z.boolean().optional(),
          agents: z.array(z.string()).describe('The agents that are connected, without people.'),
          needs: z.number().describe('How many things wait for the person.'),
        }),
      ),
    }),
  },
  'daemon.status': {
    kind: 'query',
    who: 'owner',
    network: 'never',
    summary: 'Version, process id, uptime and open workspaces of the daemon.',
    input: z.object({}),
    output: z.object({
      version: z.string(),
      pid: z.number(),
      uptimeMs: z.number(),
      dataDir: z.string(),
      /** The current settings of the HTTP server, so that a restarted daemon can keep them, such as the port. Unset if there is no HTTP server. */
      http: z
        .object({
          url: z.string(),
          port: z.number(),
          host: z.string().optional(),
          mayBeRemote: z.boolean().optional(),
          isOpen: z.boolean().optional(),
          allowOrigins: z.array(z.string()).optional(),
          pageUrl: z.string().optional(),
          home: z.string().optional(),
        })
        .optional(),
      residentMb: z.number(),
      lagMs: WorkspaceStatus.shape.lagMs,
      /** The value of PATH with which the daemon searches for programs. It may differ from the PATH in its owner's shell. */
      path: z.string().optional(),
      /** Whether a session started the daemon. Such a daemon ends some time after the last session has ended. */
      endsUnattended: z.boolean().optional(),
      workspaces: z.array(WorkspaceEntry),
    }),
  },
  'daemon.person': {
    kind: 'query',
    who: 'owner',
    network: 'never',
    summary:
      'Succeed for a person at a terminal, and refuse an agent: commands call this before they show a key or change the policy.',
    /** Whether a program without a terminal, such as a script, may ask too. It is refused in any case if an agent has started it. */
    input: z.object({ script: z.boolean().optional() }),
    output: z.object({}),
  },
  'page.link': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'A link to the page for people, with a code that works once, for five minutes.',
    /** The page opens on `workspace`. It also shows the other workspaces of the daemon, unless `only` is set. */
    input: z.object({ workspace: WorkspaceName, only: z.boolean().optional() }),
    output: z.object({ url: z.string(), until: z.string() }),
  },
  'page.logout': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'End every login of the page: codes, cookies and open connections.',
    input: z.object({}),
    output: z.object({ ended: z.number() }),
  },
  'daemon.stop': {
    kind: 'command',
    who: 'owner',
    network: 'never',
    summary: 'Finish the calls under way, then stop the daemon.',
    input: z.object({}),
    output: z.object({ stopping: z.literal(true) }),
  },
} satisfies OperationTable
