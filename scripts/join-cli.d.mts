// The types of join-cli.mjs.

export const packagesApart: string[]
export function isCliJoined(root: string): boolean
export function joinCli(root: string): Promise<void>
