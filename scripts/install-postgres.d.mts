// The types of install-postgres.mjs.

export function installPostgres(): string
