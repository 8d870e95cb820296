// Types of remove-leftovers.mjs, for its test.

export declare function removeLeftovers(root: string): void
