// Two files that only the owner can read: `cluster.json` keeps a data directory's membership in a cluster, with the secret of this machine's login, and
// `shared.json` in the folder of a workspace says that the workspace is shared.

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { projectDir, readForeignText, UnsafeFileError } from '@agent-relay/sdk/internal/discover'
import { type RequestKind, requestKinds } from '@agent-relay/sdk/protocol/requests'
import { RefusalError } from '../core/refusal-error.ts'
import { syncFolder } from './sync.ts'

/** How this machine reaches and logs in to the cluster's database server, and its name in the cluster. */
export interface ClusterMembership {
  /** The database server's name, its address, or the directory of its Unix socket. */
  host: string
  port: number
  database: string
  user: string
  password: string
  /** The certificate authority that has signed the database server's certificate; unset if it is one that this machine trusts anyway. */
  ca?: string
  /** The name in the database server's certificate; unset if that is `host`. */
  certificateName?: string
  /** The name of this machine in the cluster. */
  machine: string
  /** The database role that made the cluster. Inviting another machine requires a login with this role. */
  admin?: string
  /** The host where `admin` logs in; unset if that is `host`. Many servers accept such a login only on their own computer, over the Unix socket. */
  adminHost?: string
  /** The requests that each other machine may make of this one, by machine name. Only this machine's owner writes them, never another machine. */
  allows?: Record<string, AllowedRequests>
}

/**
 * The rights of one machine. `joinedAt` identifies the machine: if it is removed and another is invited under the same name, the other has another
 * `joinedAt`, and not these rights.
 */
export interface AllowedRequests {
  joinedAt: string
  may: RequestKind[]
}

/** A machine in the cluster's list of machines. */
interface Listed {
  name: string
  joinedAt: string
  revokedAt?: string
}

/** The content of `shared.json`: a workspace that this machine shares through the cluster. */
export interface SharedFileContent {
  /** The id of the workspace. */
  id: string
  /**
   * `moving`: the workspace's journal is being copied into the cluster. `leaving`: the journal is being taken back. After a crash, the cluster shows
   * whether the step is done: it has the whole workspace or nothing of it.
   */
  phase?: 'moving' | 'leaving'
  /** Random prefix of the marks by which the cluster recognises the copied journal entries. Unset unless `phase` is `moving`. */
  stem?: string
}

const clusterFileBytesMax = 64 * 1024

export class ClusterFile {
  readonly path: string

  constructor(dataDir: string) {
    this.path = join(dataDir, 'cluster.json')
  }

  /** Reads this machine's membership in a cluster; undefined if it belongs to none. */
  read(): ClusterMembership | undefined {
    const found = readJson(this.path) as ClusterMembership | undefined
    if (found === undefined) return undefined
    const isWhole = [found.host, found.database, found.user, found.password, found.machine].every(isText)
    if (!isWhole || !Number.isInteger(found.port)) throw invalid(this.path, 'it does not say where the cluster is')
    return found
  }

  write(membership: ClusterMembership): void {
    writeJson(this.path, membership)
  }

  /**
   * Whether a machine may make a kind of request. The file is read for each request, so that a withdrawn right ends at once. A file that cannot be read allows
   * nothing.
   */
  async allows(name: string, kind: RequestKind, list: () => Promise<Listed[]>): Promise<boolean> {
    try {
      const place = this.read() ?? {}
      // A machine without the right is refused without asking the cluster.
      if (!entryOf(place, name)?.may.includes(kind)) return false
      const listed = (await list()).find((each) => each.name === name && each.revokedAt === undefined)
      return listed !== undefined && requestsAllowedTo(place, listed).includes(kind)
    } catch {
      return false
    }
  }
}

export class SharedWorkspaceFile {
  readonly path: string

  constructor(dataDir: string, workspace: string) {
    this.path = join(projectDir(dataDir, workspace), 'shared.json')
  }

  /** Reads how the workspace is shared; undefined if the workspace lives on this machine alone. */
  read(): SharedFileContent | undefined {
    const found = readJson(this.path) as SharedFileContent | undefined
    if (found !== undefined && !isText(found.id)) throw invalid(this.path, 'it does not say which workspace is shared')
    return found
  }

  write(shared: SharedFileContent): void {
    writeJson(this.path, shared)
  }

  remove(): void {
    rmSync(this.path, { force: true })
    syncFolder(dirname(this.path))
  }
}

export function requestsAllowedTo(
  { allows }: Pick<ClusterMembership, 'allows'>,
  { name, joinedAt }: Listed,
): RequestKind[] {
  const found = entryOf({ allows }, name)
  // The two are compared as times, not as texts: the cluster's database writes a time in the time zone of the session that asks.
  return found && Date.parse(found.joinedAt) === Date.parse(joinedAt) ? found.may : []
}

/** Returns the stored rights for a machine name, whichever machine had the name when the rights were written. */
function entryOf({ allows }: Pick<ClusterMembership, 'allows'>, name: string): AllowedRequests | undefined {
  const found: unknown = allows && Object.hasOwn(allows, name) ? allows[name] : undefined
  const { joinedAt, may } = (found ?? {}) as Partial<AllowedRequests>
  if (!isText(joinedAt) || !Array.isArray(may)) return undefined
  return { joinedAt, may: requestKinds.filter((kind) => may.includes(kind)) }
}

/** Formats the cluster's address for people: never with a password. */
export function clusterAddressText({
  host,
  port,
  database,
}: Pick<ClusterMembership, 'host' | 'port' | 'database'>): string {
  return `${host.startsWith('/') ? host : `${host}:${port}`}/${database}`
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function invalid(path: string, why: string): RefusalError {
  return new RefusalError('config.invalid', { path, why })
}

function readJson(path: string): unknown {
  let text: string | undefined
  try {
    text = readForeignText(path, { bytesMax: clusterFileBytesMax })
  } catch (error) {
    if (!(error instanceof UnsafeFileError)) throw error
    throw invalid(path, error.why)
  }
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Invalid JSON is refused below, like JSON that is no object.
  }
  throw invalid(path, 'not valid JSON')
}

/** Replaces a file in one step and syncs it: after a power cut either the former file or the new one exists. */
function writeJson(path: string, value: unknown): void {
  const draft = `${path}.${process.pid}.tmp`
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, path)
  syncFolder(dirname(path))
}
