// The settings for runs and workers in a project's own `.relay/config.json`, and whether the owner has allowed exactly this content. A file that came with a
// repository can name commands and addresses: nothing of it counts before `agent-relay trust`.

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProjectFile, type ProjectFile } from '@agent-relay/sdk/internal/discover'
import type { RefusalDetails } from '@agent-relay/sdk/protocol/refusals'
import { z } from 'zod'
import { RefusalError } from '../core/refusal-error.ts'

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
  /** The language model of the built-in agent loop. */
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
  /**
   * By CLI name: additional arguments for a worker's CLI. `acp`: a program with its arguments that speaks ACP (Agent Client Protocol), used in place of the CLI
   * or as a new CLI of that name.
   */
  harness: z
    .record(z.string(), z.object({ args: z.array(z.string()).optional(), acp: z.array(z.string()).min(1).optional() }))
    .optional(),
  /** What a worker's git worktree gets besides its commit. Paths start at the repository's main checkout. */
  worktree: z
    .object({
      /** The directory where worktrees are made. */
      directory: z.string().min(1).optional(),
      /** Files that git ignores and the worker needs, such as `.env`. */
      copy: z.array(z.string().min(1)).max(100).optional(),
      submodules: z.array(z.string().min(1)).max(100).optional(),
      /** A command and its arguments, run in the worktree before the worker starts. */
      setup: z.array(z.string().min(1)).min(1).optional(),
    })
    .optional(),
})
export type ProjectSettings = z.infer<typeof Settings>

export interface ProjectConfigFile {
  path: string
  /** The project's directory, which contains the folder `.relay`. */
  directory: string
  /** The SHA-256 of the file's content. The owner trusts exactly this content: a file that was changed is not trusted any more. */
  sha256: string
  isTrusted: boolean
  settings: ProjectSettings
}

/** Reads the nearest project configuration, upward from `directory`. The file is read once, so that the hashed content is the content used. */
export function projectConfig(directory: string, dataDir: string): ProjectConfigFile | undefined {
  const file = findFile(directory)
  if (file === undefined) return undefined
  // The real path gives the configuration file one name, whichever path led to its directory.
  const real = realpathSync(file.directory)
  const path = join(real, '.relay', 'config.json')
  const settings = Settings.safeParse(file.value)
  if (!settings.success) throw new RefusalError('config.invalid', { path, why: faultText(settings.error) })
  const sha256 = createHash('sha256').update(file.text).digest('hex')
  const isTrusted = read(dataDir)[path] === sha256
  return { path, directory: real, sha256, isTrusted, settings: settings.data }
}

export function trustConfig({ path, sha256 }: Pick<ProjectConfigFile, 'path' | 'sha256'>, dataDir: string): void {
  write(dataDir, { ...read(dataDir), [path]: sha256 })
}

/** Withdraws the trust in a file. Returns false if it was not trusted. */
export function withdrawTrust(path: string, dataDir: string): boolean {
  const { [path]: known, ...rest } = read(dataDir)
  if (known !== undefined) write(dataDir, rest)
  return known !== undefined
}

/** Whether the project's settings contain nothing that needs trust. */
export function needsNoTrust({ llm, mcpServers = {}, harness = {}, worktree = {} }: ProjectSettings): boolean {
  if (Object.keys(worktree).length > 0) return false
  return llm === undefined && Object.keys(mcpServers).length === 0 && Object.keys(harness).length === 0
}

function findFile(directory: string): ProjectFile | undefined {
  try {
    return findProjectFile(directory)
  } catch (error) {
    const { code, details } = error as { code?: unknown; details?: RefusalDetails }
    throw code === 'config.invalid' ? new RefusalError('config.invalid', details) : error
  }
}

const [faultsShownMax, placeCharsMax] = [3, 80]

/** Lists only the first faults of an invalid configuration: a file can have a million, each with a name of its own choice. */
function faultText({ issues }: z.ZodError): string {
  const shown = issues.slice(0, faultsShownMax).map(({ path, message }) => {
    return `${path.join('.').slice(0, placeCharsMax)}: ${message}`
  })
  return issues.length > shown.length ? `${shown.join('; ')}; …` : shown.join('; ')
}

const trustFile = 'trust.json'

/** Reads the trusted digests, by path of the configuration file. If the file of digests cannot be read, nothing is trusted. */
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
