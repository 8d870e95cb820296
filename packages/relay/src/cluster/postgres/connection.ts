// A connection to PostgreSQL that makes one call at a time. The first call opens it, and the first call after a failure opens it again. Only this file
// imports the driver, and loads it with the first connection: a daemon without shared workspaces never loads it.

import { X509Certificate } from 'node:crypto'
import { checkServerIdentity, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { Client as PgClient } from 'pg'
import type { Clock } from '../../machine/clock.ts'
import { isLoopback } from '../../machine/loopback.ts'
import { ClusterUnreachable, type ServerFault } from '../cluster-journal.ts'
import { faultOf, isLoginFault, NotPostgres } from './faults.ts'
import { machineOfRole } from './roles.ts'

export type Client = PgClient

/** The address of a server, and the role that logs in. */
export interface ServerAddress {
  /** The server's name or address, or the directory of its Unix socket. */
  host: string
  port: number
  database: string
  user: string
  /** The role's password. Unset if the password comes from `PGPASSWORD` or the file `.pgpass`. */
  password?: string
  /**
   * The certificate authority that must have issued the server's certificate. Unset: any authority that this machine trusts. Connections to other machines
   * always use TLS.
   */
  ca?: string
  /** The name in the server's certificate. Set if `host` is something else, such as an address. */
  certificateName?: string
}

/**
 * Interval between looks at a connection that waits for an answer, and the number of looks without a byte in either direction after which it is given up:
 * TCP does not report that a connection was cut.
 */
const [lookMs, silentLooksMax] = [1_000, 5]
const goodbyeMs = 500

/**
 * Maximum size of an answer, whatever other machines have stored. A page of entries is at most 8 MiB of text and one more entry; a payload is at most 8 MiB,
 * which the server sends as twice as many characters.
 */
const answerBytesMax = 64 * 1024 * 1024

/** Thrown if the server does not let this machine in: its role was removed, may not log in any more, or has another password. */
export class LoginRefused extends Error {
  /** The fault that the server reported. Undefined if the login succeeded, but the cluster does not know the machine. */
  readonly fault: ServerFault | undefined

  constructor(why: string | ServerFault) {
    super(typeof why === 'string' ? why : why.text)
    this.fault = typeof why === 'string' ? undefined : why
  }
}

/** Returns the part of a refusal that says that the machine may not have been removed, but has a wrong password. */
export function loginFaultReason({ fault }: LoginRefused): { why?: string } {
  return fault?.kind === 'password' ? { why: fault.text } : {}
}

/** Whether a connection failed because the login was refused. */
export function isLoginRefused(error: unknown, address: ServerAddress): boolean {
  return error instanceof LoginRefused || isLoginFault(faultOf(error, address))
}

/** Returns the certificates in a file's text. A file has several while one certificate is being replaced by another. */
export function splitCertificates(text = ''): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/**
 * Requires the server to prove that it knows this role, before the server gets a password. The real server has a password verifier for each of our roles; a
 * program of another local user that has taken the server's port has none.
 */
function requireServerProof(client: Client): { failure?: Error } {
  const { connection } = client as unknown as { connection: import('node:events').EventEmitter }
  let isProven = false
  const proof: { failure?: Error } = {}
  const refuse = () => {
    const why = 'the server did not prove that it knows this role: its pg_hba.conf must ask for scram-sha-256'
    proof.failure = new Error(why)
    streamOf(client).destroy(proof.failure)
  }
  // These listeners run before the driver's own listeners, which would send the password.
  connection.once('authenticationCleartextPassword', refuse).once('authenticationMD5Password', refuse)
  connection.once('authenticationSASLFinal', () => {
    isProven = true
  })
  connection.once('readyForQuery', () => isProven || refuse())
  return proof
}

async function connect(address: ServerAddress): Promise<Client> {
  const { default: pg } = await import('pg')
  const { ca, certificateName, ...rest } = address
  const isHere = address.host.startsWith('/') || isLoopback(address.host)
  const named = (host: string, certificate: PeerCertificate) =>
    checkServerIdentity(certificateName ?? host, certificate)
  const secure = { rejectUnauthorized: true, checkServerIdentity: named, ...(ca === undefined ? {} : { ca }) }
  const ssl = isHere ? false : secure
  const client = new pg.Client({
    ...rest,
    ssl,
    // Sends several statements in one write. A transaction that takes a lock is then done in one round trip instead of one for each statement.
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: lookMs * silentLooksMax,
    application_name: 'agent-relay',
  })
  // Without a listener, the first broken connection would end the process. The next call on the connection reports the error.
  client.on('error', () => {})
  const proof = machineOfRole(address.user) === undefined ? undefined : requireServerProof(client)
  const connecting = client.connect()
  const shown = isHere ? undefined : watchCertificate(client)
  streamOf(client).prependOnceListener('data', (bytes: Buffer) => {
    // Bytes of another program are refused here: the driver would take them for the beginning of an answer, and wait for the rest.
    if (!isPostgres(bytes, !isHere)) streamOf(client).destroy(new NotPostgres('this is no PostgreSQL'))
  })
  try {
    await connecting
    // The driver may report success although the server has proved nothing.
    if (proof?.failure) throw proof.failure
  } catch (error) {
    // The socket may still be open, for example if the server asks for a password that we do not have.
    streamOf(client).destroy()
    throw shown?.certificate ? Object.assign(error as Error, shown) : error
  }
  return client
}

/**
 * Whether the first byte is one with which PostgreSQL begins: `S` or `N` (TLS or not), `R` (a request for a password), `E` (an error), `N` (a notice) or `v`
 * (another protocol version).
 */
function isPostgres([first = 0]: Uint8Array, isTlsAsked: boolean): boolean {
  return (isTlsAsked ? 'SNE' : 'RENv').includes(String.fromCharCode(first))
}

/** Records the server's certificate before it is checked: once a socket was closed because of its certificate, the certificate can no longer be read. */
function watchCertificate(client: Client): { certificate?: X509Certificate } {
  const shown: { certificate?: X509Certificate } = {}
  // The driver's own listener has run before this one, and has replaced the stream by a TLS stream if the server has TLS.
  streamOf(client).once('data', () => {
    const stream = streamOf(client) as Partial<TLSSocket>
    stream.prependOnceListener?.('secure', () => {
      // An error in this listener would end the process. In Node 20, calling `getPeerX509Certificate` would break the check of the name that follows.
      try {
        shown.certificate = new X509Certificate((stream as TLSSocket).getPeerCertificate(true).raw)
      } catch {
        // The check of the certificate goes on all the same; only the text about a failure lacks a description of the certificate.
      }
    })
  })
  return shown
}

/** The server address of each connection that `withClient` has made. */
const addresses = new WeakMap<Client, ServerAddress>()

/** Opens one connection for a command of a person, and closes it when the work is done. */
export async function withClient<T>(address: ServerAddress, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(address)
  addresses.set(client, address)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Opens a second connection to the same server, for a connection that `withClient` has made: calls on one do not wait for calls on the other. */
export function withSecondClient<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  return withClient(addresses.get(client) as ServerAddress, work)
}

export interface ConnectionOptions {
  address: ServerAddress
  clock: Clock
  /** Runs on every new connection before any call. */
  greet(client: Client): Promise<void>
  /** Called every second in which an awaited answer has not come, because another machine may hold a lock. */
  onSilence(): void
}

export class Connection {
  readonly #options: ConnectionOptions
  #client: Client | undefined
  /** Resolves when the previous call is done. */
  #free: Promise<unknown> = Promise.resolve()
  #isClosed = false
  /** Whether the server has reported that a commit did not wait for its standby. */
  #isUnsure = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Makes a call on the connection. Fails with `ClusterUnreachable` if no answer came, or with `LoginRefused`. A failed call closes the connection. */
  ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    const answer = this.#free.then(() => this.#ask(question))
    this.#free = answer.catch(() => {})
    return answer
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client
    if (!client) return
    this.#client = undefined
    // A server that cannot be reached never closes its end, so the socket is destroyed after `goodbyeMs`.
    const late = this.#options.clock.after(goodbyeMs, () => streamOf(client).destroy())
    await client.end()
    late.cancel()
  }

  async #ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new ClusterUnreachable('closed', true)
    const client = this.#client ?? (await this.#open())
    try {
      const answer = await this.#heard(client, question(client))
      if (this.#isUnsure) throw new Error('the server did not wait for its standby')
      return answer
    } catch (error) {
      this.#drop(client)
      throw failureOf(error as Error, this.#options.address)
    }
  }

  async #open(): Promise<Client> {
    const { address, greet } = this.#options
    let client: Client | undefined
    try {
      client = await connect(address)
      await this.#heard(client, greet(client))
      if (this.#isClosed) throw new Error('closed meanwhile')
    } catch (error) {
      if (client) this.#drop(client)
      if (error instanceof LoginRefused) throw error
      const fault = faultOf(error, address)
      throw isLoginFault(fault) ? new LoginRefused(fault) : new ClusterUnreachable(fault, true)
    }
    this.#isUnsure = false
    this.#client = client
    const gone = () => this.#drop(client)
    client.on('error', gone)
    client.on('end', gone)
    // With this notice the server says that somebody has cancelled the wait for a synchronous standby. It still reports the commit as successful.
    client.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') this.#isUnsure = true
    })
    return client
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined
    // The call is not cancelled on the server: a commit may be stored although it was cancelled.
    streamOf(client).destroy()
  }

  /**
   * Gives the connection up after a long silence. It counts looks and not time, so that a daemon that was suspended does not take its own pause for silence.
   */
  async #heard<T>(client: Client, answer: Promise<T>): Promise<T> {
    const stream = streamOf(client)
    const before = stream.bytesRead
    // Keeps the reason, because the driver reports only that the connection has ended.
    let why: Error | undefined
    const giveUp = (text: string) => {
      why ??= new Error(text)
      stream.destroy(why)
    }
    const count = () => {
      if (stream.bytesRead - before > answerBytesMax) giveUp(tooLong)
    }
    stream.on('data', count)
    let [passed, silentLooks] = [-1, 0]
    const look = () => {
      const bytes = stream.bytesRead + stream.bytesWritten - stream.writableLength
      silentLooks = bytes === passed ? silentLooks + 1 : 0
      passed = bytes
      if (silentLooks === silentLooksMax) return giveUp('the server has been silent for too long')
      if (silentLooks > 0) this.#options.onSilence()
      alarm = this.#options.clock.after(lookMs, look)
    }
    let alarm = this.#options.clock.after(lookMs, look)
    try {
      return await answer
    } catch (error) {
      throw why ?? error
    } finally {
      stream.off('data', count)
      alarm.cancel()
    }
  }
}

const tooLong = `an answer of the server is longer than ${answerBytesMax / 1024 / 1024} MiB`

/** Returns the socket that the driver uses; the driver's types do not contain it. */
function streamOf(client: Client): import('node:net').Socket {
  return (client as unknown as { connection: { stream: import('node:net').Socket } }).connection.stream
}

/**
 * SQL states of statements that were not carried out but may succeed later: the server is a standby (25006), a conflict (40), no memory or disk space (53),
 * a lock was not given in time (55P03), a timeout (57014), a damaged file (58), or our schema is missing (3F000).
 */
const refusedForNow = /^(?:25006|3F000|40...|53...|55P03|57014|58...)$/
/** SQL states with which the server closes a connection, so that it is unknown whether a commit was stored. */
const ended = /^(?:08...|25P03|57P..|XX...)$/

function failureOf(error: Error, address: ServerAddress): Error {
  const { code } = error as { code?: string }
  if (error instanceof ClusterUnreachable || error instanceof LoginRefused) return error
  // Only errors that the server has sent have a severity.
  const isEnd = !('severity' in error) || (code !== undefined && ended.test(code))
  const isUnsent = !isEnd && code !== undefined && refusedForNow.test(code)
  return isEnd || isUnsent ? new ClusterUnreachable(faultOf(error, address), isUnsent) : error
}
