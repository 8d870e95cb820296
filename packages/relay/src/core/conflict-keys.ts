// Conflict keys: names for the parts of a workspace that a decision reads and a fact changes. Where two machines decide at once, the cluster compares
// keys: a decision stands if nobody has written a key that it read (cluster/keys.ts). A key is a letter for a kind and the name of one thing; the
// letter alone stands for the whole kind, and every fact of that kind writes it.

import { toolNameOf } from '@agent-relay/sdk/protocol'
import { handleKey } from './handles.ts'

export const keys = {
  policy: 'p',
  /** The workspace's format and owner, and the machines that were removed. */
  machines: 'o',
  agents: 'a',
  agent: (name: string) => `a:${name}`,
  /** Names and handles; those that read alike have the same key. */
  calledAny: 'h',
  called: (text: string) => `h:${handleKey(text)}`,
  channels: '#',
  /** A conversation's last number. */
  conversation: (name: string) => `c:${name}`,
  /** Whether a conversation exists. */
  existence: (name: string) => `e:${name}`,
  stay: (agent: string, conversation: string) => `m:${agent} ${conversation}`,
  reactions: (message: string) => `t:${message}`,
  actions: 'x',
  /** An action by its name as a tool, which no two share. */
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
