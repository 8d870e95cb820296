// Finds out whether other machines reach a PostgreSQL that runs on this one, by logging in with the invitation itself over the network. If they do not, lists
// the lines of the server's configuration that somebody has to change; no file of the server is touched.

import { X509Certificate } from 'node:crypto'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { checkServerIdentity, type PeerCertificate, connect as secureConnect, type TLSSocket } from 'node:tls'
import { type Client, type ServerAddress, withClient } from '../../../cluster/postgres/connection.ts'
import { isLoopback } from '../../../machine/loopback.ts'

/** Timeout in ms, enough for a server on this machine, which answers at once. */
const probeMs = 5_000
/** PostgreSQL's SSLRequest, the first message of a client that asks for TLS. */
const wantsTls = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

export type ReachResult = { address: ServerAddress; lines?: undefined } | { lines: string[] }

interface OwnAddress {
  host: string
  /** The network of the address, as pg_hba.conf writes it: `192.168.1.0/24`. */
  network: string
}

/** Checks whether another machine could log in. `invited`: the server's address with the login of an invitation. `client`: the administrator's connection. */
export async function checkReachable(
  client: Client,
  invited: ServerAddress,
  at: string | undefined,
): Promise<ReachResult> {
  if (at === undefined && !isThisMachine(invited.host)) return { address: invited }
  const hosts = at === undefined ? ownAddresses() : [{ host: at, network: ownAddresses()[0]?.network ?? 'samenet' }]
  const [first] = hosts
  if (!first)
    return { lines: ['This machine has no address that another one could reach. If it has a name, say it: --at HOST'] }
  const listens = (await setting(client, 'listen_addresses'))?.split(',').map((each) => each.trim()) ?? []
  let why = ''
  for (const { host } of hosts) {
    // An address on which the server does not listen is skipped: a program of another local user may listen there and pass connections on to the server.
    if (!isThisMachine(host) && !['*', '0.0.0.0', host].some((each) => listens.includes(each))) {
      why ||= 'the server does not listen there'
      continue
    }
    const address = { ...invited, host }
    try {
      const known = isThisMachine(host) ? address : { ...address, ...(await serverIdentity(address)) }
      await withClient(known, async () => {})
      return { address: known }
    } catch (error) {
      why ||= (error as Error).message
    }
  }
  return { lines: await linesToChange(client, invited, first, why) }
}

function isThisMachine(host: string): boolean {
  return host.startsWith('/') || isLoopback(host)
}

function ownAddresses(): OwnAddress[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return all
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address, cidr }) => ({ host: address, network: networkOf(address, Number(cidr?.split('/')[1] ?? 24)) }))
}

function networkOf(address: string, bits: number): string {
  const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const start = Math.floor(number / 2 ** (32 - bits)) * 2 ** (32 - bits)
  return `${[24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join('.')}/${bits}`
}

/**
 * Returns the certificate authority and the host name with which other machines verify the server: those that this machine uses, otherwise those of the
 * server's own certificate.
 */
async function serverIdentity({
  host,
  port,
  ca,
}: ServerAddress): Promise<Pick<ServerAddress, 'ca' | 'certificateName'>> {
  const socket = await openTls(host, port, ca)
  const { authorized, authorizationError } = socket
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  const isNamed = checkServerIdentity(host, certificate) === undefined
  const name = isNamed ? {} : { certificateName: nameIn(certificate) }
  if (authorized || isOtherName(authorizationError)) return { ca, ...name }
  const own = new X509Certificate(certificate.raw)
  if (own.checkIssued(own)) return { ca: own.toString(), ...name }
  throw new Error(
    `its certificate was issued by one that other machines do not know (${authorizationError}). Name that one: agent-relay cluster init --ca FILE`,
  )
}

/** Whether the certificate is trusted, and only the host name in it differs. */
function isOtherName(error: unknown): boolean {
  return /ALTNAME/.test(String((error as { code?: string } | undefined)?.code ?? error))
}

function nameIn({ subjectaltname = '', subject }: PeerCertificate): string {
  const [, name] = /(?:DNS|IP Address):([^,\s]+)/.exec(subjectaltname) ?? []
  return name ?? String(subject.CN)
}

/** Opens a TLS connection as PostgreSQL's clients do, without verifying the certificate. */
function openTls(host: string, port: number, ca: string | undefined): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    socket.setTimeout(probeMs, () => socket.destroy(new Error('it does not answer')))
    const closed = () => reject(new Error('it closed the connection'))
    socket
      .once('error', reject)
      .once('close', closed)
      .once('connect', () => socket.write(wantsTls))
    socket.once('data', (answer) => {
      if (answer.toString('latin1', 0, 1) !== 'S') return socket.destroy(new Error('it has no TLS'))
      const secure = secureConnect({ socket, host, ca, rejectUnauthorized: false })
      secure
        .once('error', reject)
        .once('close', closed)
        .once('secureConnect', () => resolve(secure))
    })
  })
}

async function linesToChange(
  client: Client,
  server: ServerAddress,
  { host, network }: OwnAddress,
  why: string,
): Promise<string[]> {
  const [listens, ssl] = [await setting(client, 'listen_addresses'), await setting(client, 'ssl')]
  const isOpen = listens !== undefined && /^\*$|^0\.0\.0\.0$/.test(listens)
  const files = [await setting(client, 'config_file'), await setting(client, 'hba_file')]
  const [conf = 'postgresql.conf', hba = 'pg_hba.conf'] = files
  return [
    `Other machines cannot reach the PostgreSQL on this one (${host}:${server.port}: ${why}). It needs these lines, and a restart of the server:`,
    ...(isOpen ? [] : [`  ${conf}: listen_addresses = '*'`]),
    ...(ssl === 'on' ? [] : [`  ${conf}: ssl = on (with ssl_cert_file and ssl_key_file)`]),
    `  ${hba}: hostssl ${server.database} +relay_machine,+relay_invited ${network} scram-sha-256`,
    ...(files.includes(undefined)
      ? ["To see where these files are: sudo -u postgres psql -c 'SHOW config_file' -c 'SHOW hba_file'"]
      : []),
  ]
}

/** Returns a setting of the server; undefined if only a superuser may read it. */
async function setting(client: Client, name: string): Promise<string | undefined> {
  const { rows } = await client.query('SELECT current_setting($1) AS value', [name]).catch(() => ({ rows: [] }))
  return rows[0]?.value
}
