// The types of join-pipe.mjs.
export function joinPipe(root: string): boolean
