// The types of install-node.mjs.

export function installNode(major: number | string): string
