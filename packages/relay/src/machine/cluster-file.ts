// The files that keep a data directory's membership in a cluster, with the secret of this machine's login, and, in the folder of a workspace, that it is
// shared. Only the owner can read them.

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { projectDir, readForeignText, UnsafeFileError } from '@agent-relay/sdk/internal/discover'
import { type RequestKind, requestKinds } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import { syncFolder } from './sync.ts'

/** A machine's place in a cluster. */
export interface Membership {
  /** The server's name, its address, or the directory of its Unix socket. */
  host: string
  port: number
  database: string
  user: string
  password: string
  /** The authority for the server's certificate; unset: those that this machine trusts. */
  ca?: string
  /** The name in the server's certificate, if the server is reached by another one. */
  certificateName?: string
  /** The name of this machine in the cluster. */
  machine: string
  /** The database role that made the cluster; whoever invites another machine logs in with it. */
  admin?: string
  /** The host where `admin` logs in, if not `host`: many servers let people of their own computer in by its socket alone. */
  adminHost?: string
  /** The requests that other machines may make of this one, by machine name. Written by this machine's owner alone, never because another machine says so. */
  allows?: Record<string, Allowed>
}

/**
 * The rights of one machine. `joinedAt` identifies it: a machine removed and invited again under the same name has joined at another time, and is
 * another machine.
 */
export interface Allowed {
  joinedAt: string
  may: RequestKind[]
}

/** A machine as the cluster lists it. */
interface Listed {
  name: string
  joinedAt: string
  revokedAt?: string
}

/** A workspace that this machine shares. */
export interface Shared {
  /** The workspace's own id. */
  id: string
  /**
   * moving: the journal is being copied into the cluster. leaving: it is being taken back. After a crash the cluster decides: it has the whole
   * workspace, or nothing.
   */
  phase?: 'moving' | 'leaving'
  /** Prefix of the marks of the copied entries. */
  stem?: string
}

const clusterFileBytesMax = 64 * 1024

export class ClusterFile {
  readonly path: string

  constructor(dataDir: string) {
    this.path = join(dataDir, 'cluster.json')
  }

  /** This machine's membership; undefined if it belongs to no cluster. */
  read(): Membership | undefined {
    const found = readJson(this.path) as Membership | undefined
    if (found === undefined) return undefined
    const isWhole = [found.host, found.database, found.user, found.password, found.machine].every(isText)
    if (!isWhole || !Number.isInteger(found.port)) throw invalid(this.path, 'it does not say where the cluster is')
    return found
  }

  write(membership: Membership): void {
    writeJson(this.path, membership)
  }

  /**
   * Whether a machine may make a kind of request. Read again for each request, so that a withdrawn right ends at once. A file that cannot be read allows
   * nothing.
   */
  async allows(name: string, kind: RequestKind, list: () => Promise<Listed[]>): Promise<boolean> {
    try {
      const place = this.read() ?? {}
      // The cluster is not asked for a machine that may do nothing anyway.
      if (!entryOf(place, name)?.may.includes(kind)) return false
      const listed = (await list()).find((each) => each.name === name && each.revokedAt === undefined)
      return listed !== undefined && allowedTo(place, listed).includes(kind)
    } catch {
      return false
    }
  }
}

export class SharedFile {
  readonly path: string

  constructor(dataDir: string, workspace: string) {
    this.path = join(projectDir(dataDir, workspace), 'shared.json')
  }

  /** The workspace's sharing; undefined if it lives on this machine alone. */
  read(): Shared | undefined {
    const found = readJson(this.path) as Shared | undefined
    if (found !== undefined && !isText(found.id)) throw invalid(this.path, 'it does not say which workspace is shared')
    return found
  }

  write(shared: Shared): void {
    writeJson(this.path, shared)
  }

  remove(): void {
    rmSync(this.path, { force: true })
    syncFolder(dirname(this.path))
  }
}

export function allowedTo({ allows }: Pick<Membership, 'allows'>, { name, joinedAt }: Listed): RequestKind[] {
  const found = entryOf({ allows }, name)
  // The cluster writes the same moment in the time zone of whoever asks.
  return found && Date.parse(found.joinedAt) === Date.parse(joinedAt) ? found.may : []
}

/** The entry for a machine name, whichever machine had that name when it was written. */
function entryOf({ allows }: Pick<Membership, 'allows'>, name: string): Allowed | undefined {
  const found: unknown = allows && Object.hasOwn(allows, name) ? allows[name] : undefined
  const { joinedAt, may } = (found ?? {}) as Partial<Allowed>
  if (!isText(joinedAt) || !Array.isArray(may)) return undefined
  return { joinedAt, may: requestKinds.filter((kind) => may.includes(kind)) }
}

/** The cluster's address as people see it: never with a password. */
export function placeText({ host, port, database }: Pick<Membership, 'host' | 'port' | 'database'>): string {
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
    // Refused below, as a file that holds something else than an object.
  }
  throw invalid(path, 'not valid JSON')
}

/** Replaces the file in one step, on disk: after a power cut the former file or this one exists. */
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
