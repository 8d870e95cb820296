// Names of conversations: `#build` is a channel, `*` the broadcast, `@Alice,Bob` a pair or group, which names its members.

export const generalChannel = '#general'
export const broadcast = '*'

/** Makes the name of a pair or group. Members are sorted, so that the name is the same whoever writes first. */
export function directKey(agents: Iterable<string>): string {
  const names = [...agents]
  const [one = '', other = ''] = names
  // A pair, the usual case, needs no set and no sort, which would take a hundredth of the time of a send.
  if (names.length === 2 && one !== other) return one < other ? `@${one},${other}` : `@${other},${one}`
  return `@${[...new Set(names)].sort().join(',')}`
}

export function isChannel(conversation: string): boolean {
  return conversation.startsWith('#')
}

/** Returns the members of a pair or group; empty for a channel or the broadcast, whose members change. */
export function directMembers(conversation: string): string[] {
  return conversation.startsWith('@') ? conversation.slice(1).split(',') : []
}

/** Whether a name is that of an agent of another workspace, such as `notes:Kim`. No name in this workspace has a colon. */
export function isFromOtherWorkspace(name: string): boolean {
  return name.includes(':')
}

export function isPair(conversation: string): boolean {
  return directMembers(conversation).length === 2
}

/** Returns the address that a reader sees in `to`: the other agent of a pair, the other agents of a group, else the conversation itself. */
export function addressOf(conversation: string, from: string): string | string[] {
  const others = directMembers(conversation).filter((name) => name !== from)
  if (others.length === 0) return conversation
  return others.length === 1 ? (others[0] as string) : others
}
