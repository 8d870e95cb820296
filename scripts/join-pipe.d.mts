// What the tests see of the script beside this file.
export function joinPipe(root: string): boolean
