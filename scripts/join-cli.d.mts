// The types of join-cli.mjs.

export function isCliJoined(root: string): boolean
export function joinCli(root: string): Promise<void>
