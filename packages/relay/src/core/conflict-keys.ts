// Conflict keys: names for the parts of a workspace that a decision reads and a fact changes. Where two machines decide at once, the cluster compares
// keys: a decision stands if nobody has written a key that it read (cluster/keys.ts). A key is a letter for a kind and the name of one thing; the
// letter alone stands for the whole kind, and every fact of that kind writes it.

import { toolNameOf } from '@agent-relay/sdk/protocol'
import { handleKey } from './handles.ts'

export const conflictKeys = {
  policy: 'p',
  /** The key for the workspace's format and owner machine, and for the machines that were removed. */
  machines: 'o',
  agents: 'a',
  agent: (name: string) => `a:${name}`,
  /** The key for all names and handles of agents. In `nameOrHandle`, names and handles that read alike have the same key. */
  allNamesAndHandles: 'h',
  nameOrHandle: (text: string) => `h:${handleKey(text)}`,
  channels: '#',
  /** The key for a conversation's last message number. */
  conversation: (name: string) => `c:${name}`,
  /** The key for whether a conversation exists. */
  existence: (name: string) => `e:${name}`,
  stay: (agent: string, conversation: string) => `m:${agent} ${conversation}`,
  reactions: (message: string) => `t:${message}`,
  actions: 'x',
  /** The key for an action by its tool name, which no two actions share. */
  tool: (tool: string) => `x:${tool}`,
  action: (name: string) => `x:${toolNameOf(name)}`,
  calls: 'i',
  call: (id: string) => `i:${id}`,
  workers: 'w',
  worker: (name: string) => `w:${name}`,
  runs: 'r',
  run: (id: string) => `r:${id}`,
  claims: 'f',
  claim: (path: string) => `f:${path}`,
  approvals: 'q',
  notices: 'n',
} as const
