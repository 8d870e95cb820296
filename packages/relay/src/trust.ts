// What a project's own `.relay/config.json` sets for runs and workers, and whether its owner has said that this very content may be used.
// A file that came with a repository can name commands and addresses: nothing of it counts before `agent-relay trust`.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { RefusalError } from './refusal-error.ts'

const strings = z.record(z.string(), z.string())

const Server = z.union([
  z.object({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: strings.optional(),
    cwd: z.string().optional(),
  }),
  z.object({ url: z.url(), headers: strings.optional() }),
])
export type McpServerSettings = z.infer<typeof Server>

const Settings = z.object({
  /** The model of the built-in loop. */
  llm: z
    .object({
      provider: z.string().optional(),
      baseUrl: z.string().optional(),
      apiKey: z.string().optional(),
      model: z.string().optional(),
    })
    .optional(),
  /** MCP servers whose tools the built-in loop gets. */
  mcpServers: z.record(z.string(), Server).optional(),
  /** More arguments for a worker's CLI. */
  harness: z.record(z.string(), z.object({ args: z.array(z.string()).optional() })).optional(),
})
export type ProjectSettings = z.infer<typeof Settings>

export interface ProjectConfigFile {
  path: string
  /** The project's own directory. */
  directory: string
  /** What binds the trust: another content is another file. */
  sha256: string
  isTrusted: boolean
  settings: ProjectSettings
}

/** The nearest one, upward from `directory`, read once: what was hashed is what is used. */
export function projectConfig(directory: string, dataDir: string): ProjectConfigFile | undefined {
  const path = findConfig(directory)
  if (path === undefined) return undefined
  const text = readFileSync(path, 'utf8')
  const settings = Settings.safeParse(parse(path, text))
  if (!settings.success) throw new RefusalError('config.invalid', { path, why: z.prettifyError(settings.error) })
  const sha256 = createHash('sha256').update(text).digest('hex')
  const isTrusted = read(dataDir)[path] === sha256
  return { path, directory: dirname(dirname(path)), sha256, isTrusted, settings: settings.data }
}

export function trust({ path, sha256 }: Pick<ProjectConfigFile, 'path' | 'sha256'>, dataDir: string): void {
  write(dataDir, { ...read(dataDir), [path]: sha256 })
}

/** False where it was not trusted. */
export function distrust(path: string, dataDir: string): boolean {
  const { [path]: known, ...rest } = read(dataDir)
  if (known !== undefined) write(dataDir, rest)
  return known !== undefined
}

/** Does it set anything that needs trust? */
export function isEmpty({ llm, mcpServers = {}, harness = {} }: ProjectSettings): boolean {
  return llm === undefined && Object.keys(mcpServers).length === 0 && Object.keys(harness).length === 0
}

function findConfig(from: string): string | undefined {
  for (let directory = resolve(from); ; directory = dirname(directory)) {
    const path = join(directory, '.relay', 'config.json')
    if (existsSync(path)) return realpathSync(path)
    if (directory === dirname(directory)) return undefined
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RefusalError('config.invalid', { path, why: (error as Error).message })
  }
}

const trustFile = 'trust.json'

/** By path. A file that cannot be read trusts nothing. */
function read(dataDir: string): Record<string, string> {
  try {
    const known = z.record(z.string(), z.string()).safeParse(JSON.parse(readFileSync(join(dataDir, trustFile), 'utf8')))
    return known.success ? known.data : {}
  } catch {
    return {}
  }
}

function write(dataDir: string, trusted: Record<string, string>): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, trustFile)
  writeFileSync(`${path}.new`, `${JSON.stringify(trusted, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
