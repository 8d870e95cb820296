/** Installs packages into the user's cache and answers their `node_modules`. */
export function installTool(...packages: string[]): string
