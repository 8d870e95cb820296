// Puts the name by which a person can run our command into texts, which call it `agent-relay`: that name need not be on the person's PATH. The command line
// inserts its own name (cli/own-name.ts), and the page the name that its daemon was told.

/**
 * Matches `agent-relay` where a command, an option or a usage follows it. Does not match a version, a path, a package, or `npx --no -- agent-relay`, which
 * works as it stands.
 */
export const ownCommand = /(?<![\w./\\@-]|npx --no -- )agent-relay(?= [a-z[-])/g

/** Returns the text with `ownName` in place of `agent-relay` in its commands. */
export function withOwnName(text: string, ownName: string): string {
  return text.replace(ownCommand, () => ownName)
}
