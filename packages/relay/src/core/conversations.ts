// Names of conversations: `#build` is a channel, `*` the broadcast, `@Alice,Bob` a pair or group, which names its members.

export const generalChannel = '#general'
export const broadcast = '*'

/** The name of a pair or group. Members are sorted, so that a pair has one conversation whoever writes first. */
export function directKey(agents: Iterable<string>): string {
  return `@${[...new Set(agents)].sort().join(',')}`
}

export function isChannel(conversation: string): boolean {
  return conversation.startsWith('#')
}

/** The members of a pair or group; empty for a channel or the broadcast, whose members change. */
export function directMembers(conversation: string): string[] {
  return conversation.startsWith('@') ? conversation.slice(1).split(',') : []
}

/** Whether a name is of an agent of another workspace, as `notes:Kim`. No name in this one holds a colon. */
export function isFromOtherWorkspace(name: string): boolean {
  return name.includes(':')
}

export function isPair(conversation: string): boolean {
  return directMembers(conversation).length === 2
}

/** The address a reader sees in `to`: the other one of a pair, the others of a group, else the conversation itself. */
export function addressOf(conversation: string, from: string): string | string[] {
  const others = directMembers(conversation).filter((name) => name !== from)
  if (others.length === 0) return conversation
  return others.length === 1 ? (others[0] as string) : others
}
