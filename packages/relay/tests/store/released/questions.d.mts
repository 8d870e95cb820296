// The types of questions.mjs.

type Message = { id: string; seq: number; n?: number } & Record<string, unknown>
type Named = { name: string } & Record<string, unknown>

/** What a workspace holds, by its answers. What a build could not be asked yet is left out. */
export interface Answers {
  agents: Named[]
  channels: Named[]
  conversations: (Named & { last?: Message })[]
  messages: Record<string, Message[]>
  receipts: Record<string, { receipts: Record<string, unknown>[] }>
  inboxes: Record<string, { messages: Message[] }>
  sent: Record<string, { messages: Message[] }>
  threads: Record<string, { messages: Message[] }>
  found: Message[]
  policy: Record<string, unknown>
  workers: ({ id: string } & Record<string, unknown>)[]
  runs: ({ id: string } & Record<string, unknown>)[]
  contracts: Record<string, unknown>
  payloads: Record<string, unknown>
  claims?: { claims: unknown[] }
  approvals?: { approvals: unknown[] }
  spend?: unknown
  needs?: { needs: { key: string }[] }
  events: ({ seq: number; type: string } & Record<string, unknown>)[]
}

export function askAll(
  call: (op: string, input: Record<string, unknown>) => unknown,
  agentsAsked: readonly string[],
): Promise<Answers>
