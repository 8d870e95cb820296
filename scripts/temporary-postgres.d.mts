// The types of temporary-postgres.mjs.

export const oldest: string | undefined
export const admin: { user: string; password: string }
export function newest(): string
export function makeServer(programs: string, settings?: Record<string, string>): Promise<string>
export function dataOf(folder: string): string
export function setServer(folder: string, settings: Record<string, string>): void
export function startServer(programs: string, folder: string, through?: string[]): Promise<void>
export function endServer(programs: string, folder: string): void
export function postgresProgram(programs: string, name: string, args: string[], through?: string[]): Promise<void>
