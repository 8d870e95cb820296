// A connection to PostgreSQL: opened by the first question, reopened after a break, one question at a time. Only this file names the driver, which is
// loaded with the first connection: a daemon without shared workspaces never loads it.

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
  /** The server's name, its address, or the directory of its Unix socket. */
  host: string
  port: number
  database: string
  user: string
  /** Unset if the password comes from `PGPASSWORD` or the file `.pgpass`. */
  password?: string
  /** The authority for the server's certificate. Unset for the authorities that this machine trusts. Connections beyond this machine always use TLS. */
  ca?: string
  /** The name in the server's certificate. Set if the server is reached by another name, such as an address. */
  certificateName?: string
}

/** TCP does not report a cut connection: after this many looks without a byte in either direction, the connection is given up. */
const [lookMs, silentLooksMax] = [1_000, 5]
const goodbyeMs = 500

/**
 * Maximum size of an answer, whatever another machine has stored. A page is at most 8 MiB of text and one more entry; a payload is at most 8 MiB, which
 * the server writes as twice as many characters.
 */
const answerBytesMax = 64 * 1024 * 1024

/** Thrown if the server does not let this machine in: its role was removed, may not log in any more, or has another password. */
export class LoginRefused extends Error {
  /** The fault that the server reported; undefined if the login worked but the cluster does not know the machine. */
  readonly fault: ServerFault | undefined

  constructor(why: string | ServerFault) {
    super(typeof why === 'string' ? why : why.text)
    this.fault = typeof why === 'string' ? undefined : why
  }
}

/** Says in a refusal why the machine may not have been removed after all. */
export function loginFaultReason({ fault }: LoginRefused): { why?: string } {
  return fault?.kind === 'password' ? { why: fault.text } : {}
}

/** Whether a connection failed because the login was refused. */
export function isLoginRefused(error: unknown, address: ServerAddress): boolean {
  return error instanceof LoginRefused || isLoginFault(faultOf(error, address))
}

/** Returns the certificates in a file's text; a file holds several while one certificate replaces another. */
export function splitCertificates(text = ''): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/**
 * Makes the server prove that it knows this role, before the server gets a password. The real server has a verifier of each of our roles; another local
 * user's program on the server's port has none.
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
  // These listeners run before the driver's own, which would answer the server.
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
    // Several statements go out in one write, so a lock is held for one round trip, not for one each.
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: lookMs * silentLooksMax,
    application_name: 'agent-relay',
  })
  // Without a listener the first broken connection would end the process. The next question on the connection reports the error.
  client.on('error', () => {})
  const proof = machineOfRole(address.user) === undefined ? undefined : requireServerProof(client)
  const connecting = client.connect()
  const shown = isHere ? undefined : watchCertificate(client)
  streamOf(client).prependOnceListener('data', (bytes: Buffer) => {
    // The driver would take foreign bytes for the start of an answer and wait for the rest.
    if (!isPostgres(bytes, !isHere)) streamOf(client).destroy(new NotPostgres('this is no PostgreSQL'))
  })
  try {
    await connecting
    // The driver may count a server that proved nothing as connected.
    if (proof?.failure) throw proof.failure
  } catch (error) {
    // The socket may still be open, for example if the server waits for a password that we do not have.
    streamOf(client).destroy()
    throw shown?.certificate ? Object.assign(error as Error, shown) : error
  }
  return client
}

/** Whether the first byte is one that PostgreSQL sends: yes or no to TLS, else a request for a password, an error, a notice or another protocol version. */
function isPostgres([first = 0]: Uint8Array, isTlsAsked: boolean): boolean {
  return (isTlsAsked ? 'SNE' : 'RENv').includes(String.fromCharCode(first))
}

/** Records the server's certificate before it is judged: a socket that was closed because of its certificate no longer shows it. */
function watchCertificate(client: Client): { certificate?: X509Certificate } {
  const shown: { certificate?: X509Certificate } = {}
  // When data arrives, the driver has already taken the server's answer, and replaced the stream with a TLS one.
  streamOf(client).once('data', () => {
    const stream = streamOf(client) as Partial<TLSSocket>
    stream.prependOnceListener?.('secure', () => {
      // An error in this listener would end the process. In Node 20 `getPeerX509Certificate` would spoil the check of names that comes next.
      try {
        shown.certificate = new X509Certificate((stream as TLSSocket).getPeerCertificate(true).raw)
      } catch {
        // The certificate is judged all the same; only the text of the fault cannot describe it.
      }
    })
  })
  return shown
}

/** The server address of each connection that `withClient` has made. */
const addresses = new WeakMap<Client, ServerAddress>()

/** Opens one connection for a person's command, for as long as the work takes. */
export async function withClient<T>(address: ServerAddress, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(address)
  addresses.set(client, address)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Opens a second connection to the server of a connection that `withClient` has made; its questions do not wait for those of the first connection. */
export function withSecondClient<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  return withClient(addresses.get(client) as ServerAddress, work)
}

export interface ConnectionOptions {
  address: ServerAddress
  clock: Clock
  /** Runs on every new connection before any question. */
  greet(client: Client): Promise<void>
  /** Called every second while an answer is awaited and nothing comes: another machine may hold a lock. */
  onSilence(): void
}

export class Connection {
  readonly #options: ConnectionOptions
  #client: Client | undefined
  /** Resolves when the previous question is done. */
  #free: Promise<unknown> = Promise.resolve()
  #isClosed = false
  /** Whether the server has said that a commit did not wait for its standby. */
  #isUnsure = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Asks a question on the connection. Fails with `ClusterUnreachable` if no answer came, or with `LoginRefused`. A failed question ends the connection. */
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
    // An unreachable server never closes its side, so the socket is destroyed after a while.
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
    // This notice says that somebody has cancelled the wait for a synchronous standby, though the answer would report success.
    client.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') this.#isUnsure = true
    })
    return client
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined
    // The question is not cancelled: a cancelled commit may be stored all the same.
    streamOf(client).destroy()
  }

  /** Gives the connection up after a long silence. Looks are counted, not time: a daemon that slept must not take its own sleep for silence. */
  async #heard<T>(client: Client, answer: Promise<T>): Promise<T> {
    const stream = streamOf(client)
    const before = stream.bytesRead
    // The reason is kept, because the driver reports only that the connection has ended.
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

/** Returns the socket below the driver, which the driver's types do not show. */
function streamOf(client: Client): import('node:net').Socket {
  return (client as unknown as { connection: { stream: import('node:net').Socket } }).connection.stream
}

/**
 * SQL states of a refused statement that may succeed later: a standby that cannot write (25006), a conflict (40), no memory or disk (53), a lock not
 * given (55P03), a statement that took too long (57014), a broken file (58), and a missing schema of ours (3F000).
 */
const refusedForNow = /^(?:25006|3F000|40...|53...|55P03|57014|58...)$/
/** SQL states with which the server ends a connection; whether a commit came through is unknown. */
const ended = /^(?:08...|25P03|57P..|XX...)$/

function failureOf(error: Error, address: ServerAddress): Error {
  const { code } = error as { code?: string }
  if (error instanceof ClusterUnreachable || error instanceof LoginRefused) return error
  // Only errors sent by the server itself carry a severity.
  const isEnd = !('severity' in error) || (code !== undefined && ended.test(code))
  const isUnsent = !isEnd && code !== undefined && refusedForNow.test(code)
  return isEnd || isUnsent ? new ClusterUnreachable(faultOf(error, address), isUnsent) : error
}
