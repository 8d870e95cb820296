// Texts for people name our commands by their usual name, `agent-relay`, which need not be on the PATH of the person who reads them. Whoever shows such a text
// puts the name there that works for this person: the command line its own (cli/own-name.ts), the page the one that its daemon was told.

/** Our name followed by a command, an option or a usage. Not a version, a path, a package, or a name that works as it stands. */
export const ownCommand = /(?<![\w./\\@-]|npx --no -- )agent-relay(?= [a-z[-])/g

/** The text with its commands under this name. */
export function withOwnName(text: string, ownName: string): string {
  return text.replace(ownCommand, () => ownName)
}
