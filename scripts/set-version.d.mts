// Types of set-version.mjs, for the test that runs it.
export function versionFiles(root: string): string[]
export function setVersion(root: string, next: string): void
export function disagreements(root: string): string[]
