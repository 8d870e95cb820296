// A connection to PostgreSQL: made when something is asked, and again after it broke; one question at a time. The one file that names the
// driver, which is loaded with the first connection, so that a daemon whose workspaces are all its own never loads it.

import { X509Certificate } from 'node:crypto'
import { checkServerIdentity, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { Client as PgClient } from 'pg'
import type { Clock } from '../../machine/clock.ts'
import { isLoopback } from '../../machine/loopback.ts'
import { ClusterUnreachable, type ServerFault } from '../cluster-journal.ts'
import { faultOf, isLoginFault, NotPostgres } from './faults.ts'
import { nameOfRole } from './roles.ts'

export type Client = PgClient

/** A server, and who asks it. */
export interface ServerAddress {
  /** A name, an address, or the directory of a Unix socket. */
  host: string
  port: number
  database: string
  user: string
  /** Unset: as `PGPASSWORD` or the file `.pgpass` say. */
  password?: string
  /** The certificate that the server's must come from; unset: one that this machine trusts. Beyond this machine there is no way without TLS. */
  ca?: string
  /** The name that the certificate is for, where the server is reached by another one, such as an address. */
  certificateName?: string
}

/** TCP does not tell that a way was cut: after so many looks without a byte in either direction the connection is given up. */
const [lookMs, silentLooksMax] = [1_000, 5]
const goodbyeMs = 500

/**
 * So much an answer may take, whatever another machine has stored. A page is at most 8 MiB of text and one more entry, a payload at most 8 MiB, which
 * the server writes as twice as many characters.
 */
const answerBytesMax = 64 * 1024 * 1024

/** The server does not let this machine in: its role was taken away, may log in no more, or has another password. */
export class LoginRefused extends Error {
  /** Undefined where it was let in, and the cluster does not know it. */
  readonly fault: ServerFault | undefined

  constructor(why: string | ServerFault) {
    super(typeof why === 'string' ? why : why.text)
    this.fault = typeof why === 'string' ? undefined : why
  }
}

/** For the refusal: why it is not certain that this machine was removed. */
export function doubtOf({ fault }: LoginRefused): { why?: string } {
  return fault?.kind === 'password' ? { why: fault.text } : {}
}

/** Whether a connection has failed for that. */
export function isLoginRefused(error: unknown, address: ServerAddress): boolean {
  return error instanceof LoginRefused || isLoginFault(faultOf(error, address))
}

/** A file may hold several, as while one takes the place of another. */
export function certificatesIn(text = ''): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/**
 * The server has a verifier of each of our roles, so it can show that it is the one which made them. Another local user's program that has taken its
 * port cannot: it gets no password, and nothing is said to it.
 */
function mustProve(client: Client): { failure?: Error } {
  const { connection } = client as unknown as { connection: import('node:events').EventEmitter }
  let isProven = false
  const proof: { failure?: Error } = {}
  const refuse = () => {
    const why = 'the server did not prove that it knows this role: its pg_hba.conf must ask for scram-sha-256'
    proof.failure = new Error(why)
    streamOf(client).destroy(proof.failure)
  }
  // Before the driver hears of it, which would answer.
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
    // Several statements go in one write: a lock is held for one round trip, not for one each.
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: lookMs * silentLooksMax,
    application_name: 'agent-relay',
  })
  // Without a listener the first cut would end the process. Whoever asks next is told.
  client.on('error', () => {})
  const proof = nameOfRole(address.user) === undefined ? undefined : mustProve(client)
  const connecting = client.connect()
  const shown = isHere ? undefined : watchCertificate(client)
  streamOf(client).prependOnceListener('data', (bytes: Buffer) => {
    // The driver would wait for the rest of what it takes for the beginning of an answer.
    if (!isPostgres(bytes, !isHere)) streamOf(client).destroy(new NotPostgres('this is no PostgreSQL'))
  })
  try {
    await connecting
    // The driver takes it for a connection by then.
    if (proof?.failure) throw proof.failure
  } catch (error) {
    // It may still be open, where the server waits for a password that there is none of.
    streamOf(client).destroy()
    throw shown?.certificate ? Object.assign(error as Error, shown) : error
  }
  return client
}

/** The first byte: yes or no to TLS, else a question for a password, an error, a notice or another version of the protocol. */
function isPostgres([first = 0]: Uint8Array, isTlsAsked: boolean): boolean {
  return (isTlsAsked ? 'SNE' : 'RENv').includes(String.fromCharCode(first))
}

/** Kept before it is judged: a socket that was closed because of its certificate shows it no more. */
function watchCertificate(client: Client): { certificate?: X509Certificate } {
  const shown: { certificate?: X509Certificate } = {}
  // The driver has taken the answer by then, and put TLS in the place of the first stream.
  streamOf(client).once('data', () => {
    const stream = streamOf(client) as Partial<TLSSocket>
    stream.prependOnceListener?.('secure', () => {
      // An error here would end the process. `getPeerX509Certificate` takes the names from the check that comes next, in Node 20.
      try {
        shown.certificate = new X509Certificate((stream as TLSSocket).getPeerCertificate(true).raw)
      } catch {
        // It is judged all the same; only what it says is not told.
      }
    })
  })
  return shown
}

/** Where the connections lead that `withClient` has made. */
const addresses = new WeakMap<Client, ServerAddress>()

/** For what a person does with a cluster: one connection, for as long as the work takes. */
export async function withClient<T>(address: ServerAddress, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(address)
  addresses.set(client, address)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** One more connection of whoever `withClient` has made this one for: what is asked over it does not wait for what is asked over the first. */
export function withAnother<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  return withClient(addresses.get(client) as ServerAddress, work)
}

export interface ConnectionOptions {
  address: ServerAddress
  clock: Clock
  /** Said on every new connection before anything else is asked. */
  greet(client: Client): Promise<void>
  /** Told every second while an answer is waited for and nothing comes: somebody may hold a lock. */
  onSilence(): void
}

export class Connection {
  readonly #options: ConnectionOptions
  #client: Client | undefined
  /** What was asked before is through. */
  #free: Promise<unknown> = Promise.resolve()
  #isClosed = false
  /** The server has said that it did not wait for its standby. */
  #isUnsure = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Fails with `ClusterUnreachable` where no answer came, and with `LoginRefused`. A question that failed has ended its connection. */
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
    // A server that is out of reach says no goodbye.
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
    // Somebody has cancelled the wait for a synchronous standby. The answer would say that all is well.
    client.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') this.#isUnsure = true
    })
    return client
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined
    // Never cancelled: a cancelled commit may be stored, and says that it is.
    streamOf(client).destroy()
  }

  /** Gives the connection up after a long silence. Looks are counted, not time: a daemon that slept must not take its own sleep for silence. */
  async #heard<T>(client: Client, answer: Promise<T>): Promise<T> {
    const stream = streamOf(client)
    const before = stream.bytesRead
    // The driver says only that the connection has ended.
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

/** The driver's types do not tell of it. */
function streamOf(client: Client): import('node:net').Socket {
  return (client as unknown as { connection: { stream: import('node:net').Socket } }).connection.stream
}

/**
 * States in which the server has refused a statement, and another try may succeed: a standby that cannot write (25006), a conflict (40), no
 * memory or disk (53), a lock not given (55P03), a statement that took too long (57014), a broken file (58). And one without our schema (3F000).
 */
const refusedForNow = /^(?:25006|3F000|40...|53...|55P03|57014|58...)$/
/** States with which the server ends a connection; whether a commit came through is not known. */
const ended = /^(?:08...|25P03|57P..|XX...)$/

function failureOf(error: Error, address: ServerAddress): Error {
  const { code } = error as { code?: string }
  if (error instanceof ClusterUnreachable || error instanceof LoginRefused) return error
  // Only what the server itself has said carries a severity.
  const isEnd = !('severity' in error) || (code !== undefined && ended.test(code))
  const isUnsent = !isEnd && code !== undefined && refusedForNow.test(code)
  return isEnd || isUnsent ? new ClusterUnreachable(faultOf(error, address), isUnsent) : error
}
