// The connection to a PostgreSQL beyond this machine: TLS, with the certificate that the machine was given, or nothing is sent. A real server with
// TLS, at two addresses that lead to this machine and do not look like it.

import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../../test/free-port.ts'
import { until } from '../../../../test/until.ts'
import { invitationLine, parseInvitation } from '../../src/cli/commands/cluster/invitation.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { type Ran, World } from '../cli/cli-world.ts'
import { PostgresServer } from './postgres-server.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) process.stdout.write('skipped for want of openssl: a cluster beyond this machine\n')

/** An address that the certificate is for, and another way to the same machine. */
const [name, address] = ['0.0.0.0', '127.1']
const folder = mkdtempSync(join(tmpdir(), 'relay-tls-'))
const [laptop, box] = [new World(), new World()]
let server: PostgresServer
let port: number

/** A certificate of its own, as `openssl req -x509` makes it; answers the paths of both files. */
function certificate(file: string, forWhom: string): { cert: string; key: string } {
  const [cert, key] = [join(folder, `${file}.crt`), join(folder, `${file}.key`)]
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=database', '-addext', `subjectAltName=${forWhom}`, '-out', cert, '-keyout', key],
  ])
  if (made.status !== 0) throw new Error(made.stderr.toString())
  chmodSync(key, 0o600)
  return { cert, key }
}

/** The same, and it has run out a day ago. */
function expired(file: string, forWhom: string): { cert: string; key: string } {
  const { cert, key } = certificate(file, forWhom)
  const [asked, names] = [join(folder, `${file}.csr`), join(folder, `${file}.names`)]
  writeFileSync(names, `subjectAltName=${forWhom}\n`)
  for (const args of [
    ['req', '-new', '-key', key, '-subj', '/CN=database', '-out', asked],
    ['x509', '-req', '-in', asked, '-signkey', key, '-days', '-1', '-extfile', names, '-out', cert],
  ]) {
    const made = spawnSync('openssl', args)
    if (made.status !== 0) throw new Error(made.stderr.toString())
  }
  return { cert, key }
}

const files = ({ cert, key }: { cert: string; key: string }) => ({
  ssl_cert_file: `'${cert}'`,
  ssl_key_file: `'${key}'`,
})

function listens(onConnection: Parameters<typeof createServer>[1]): Promise<Server> {
  const listening = createServer(onConnection)
  return new Promise((resolve) => void listening.listen(0, '127.0.0.1', () => resolve(listening)))
}

afterAll(async () => {
  await Promise.all([laptop.close(), box.close()])
  server?.end()
  rmSync(folder, { recursive: true, force: true })
})

const asAdmin = { env: { PGPASSWORD: '' } }
const urlAt = (host: string, at = port) => `postgres://postgres@${host}:${at}/relay`
const init = (...args: string[]): Promise<Ran> => laptop.run(['cluster', 'init', ...args, '--name', 'laptop'], asAdmin)
const refused = ({ code, stderr }: Ran) => [code, stderr]
const withWords = (words: string) => [69, expect.stringContaining(words)]

describe.runIf(hasOpenssl)('beyond this machine', () => {
  const own = hasOpenssl ? certificate('own', `IP:${name}`) : { cert: '', key: '' }

  beforeAll(async () => {
    chmodSync(folder, 0o755)
    port = await freePort()
    server = await PostgresServer.start(undefined, { port: String(port), ssl: 'off', ...files(own) })
    await withClient(server.address, (client) => client.query('CREATE DATABASE relay'))
    asAdmin.env.PGPASSWORD = server.address.password as string
  })

  test('a server without TLS is told nothing, and the words say what is missing', async () => {
    expect(refused(await init(urlAt(name)))).toEqual(withWords('The server has no TLS'))
    expect(refused(await init(urlAt(name), '--ca', own.cert))).toEqual(withWords('Set ssl = on there'))
    // Somebody between who says that there is none hears no more than the question.
    const heard: Buffer[] = []
    const between = await listens((socket) => {
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          heard.push(bytes)
          socket.write('N')
        })
    })
    const { port: at } = between.address() as { port: number }
    expect(refused(await init(urlAt(name, at)))).toEqual(withWords('The server has no TLS'))
    between.close()
    expect(Buffer.concat(heard).length).toBe(8)
  })

  test('a certificate that nobody has named, or that is for another name, is not taken', async () => {
    await server.set({ ssl: 'on' })
    await until(async () => !(await init(urlAt(name))).stderr.includes('has no TLS'))
    expect(refused(await init(urlAt(name)))).toEqual(withWords('does not trust the certificate of the server'))
    const stranger = certificate('stranger', `IP:${name}`)
    expect(refused(await init(urlAt(name), '--ca', stranger.cert))).toEqual(withWords('does not come from the one'))
    expect(refused(await init(urlAt(address), '--ca', own.cert))).toEqual(withWords(`is not for "${address}"`))
    // With what the certificate itself says.
    const { validTo, fingerprint256 } = new X509Certificate(readFileSync(own.cert))
    const lasts = new Date(validTo).toISOString().slice(0, 16).replace('T', ' ')
    for (const { stderr } of [await init(urlAt(address), '--ca', own.cert), await init(urlAt(name))]) {
      expect(stderr).toContain('It is issued by CN=database, valid from ')
      expect(stderr).toContain(
        `until ${lasts} UTC, for IP Address:${name}; its SHA-256 is ${fingerprint256}. Nothing was sent.`,
      )
    }
    // The environment cannot talk a client out of it.
    const careless = { env: { ...asAdmin.env, PGSSLMODE: 'disable', NODE_TLS_REJECT_UNAUTHORIZED: '0' } }
    const ran = await laptop.launch(['cluster', 'init', urlAt(name), '--name', 'laptop'], careless)
    expect(refused(ran)).toEqual(withWords('does not trust the certificate of the server'))
    expect(readFileSync(join(server.folder, 'log'), 'utf8')).not.toContain('CREATE')
  })

  test('the certificate comes with the invitation, and both machines talk by TLS', async () => {
    expect((await init(urlAt(name), '--ca', own.cert)).code).toBe(0)
    const { stdout: line } = await laptop.run(['machine', 'invite', 'box'], asAdmin)
    expect(parseInvitation(line).ca?.trim()).toBe(readFileSync(own.cert, 'utf8').trim())
    const without = line.replace(/\?ca=[^#]+/, '')
    expect(refused(await box.launch(['machine', 'join'], { input: without }))).toEqual(withWords('does not trust'))
    expect((await box.launch(['machine', 'join'], { input: line })).code).toBe(0)
    await Promise.all([laptop.serve(), box.serve()])
    await laptop.run(['workspace', 'create', 'team'])
    expect((await laptop.run(['workspace', 'share', 'team'])).code).toBe(0)
    expect((await box.run(['workspace', 'open', 'team'])).code).toBe(0)
    const text = `SELECT DISTINCT s.ssl, split_part(a.usename, '_', 2) AS machine FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
      WHERE a.usename LIKE 'relay_%' ORDER BY 2`
    const sessions = () => withClient(server.address, (client) => client.query(text)).then(({ rows }) => rows)
    await until(async () => (await sessions()).length === 2)
    expect(await sessions()).toEqual([
      { ssl: true, machine: 'box' },
      { ssl: true, machine: 'laptop' },
    ])
  })

  test('a server that shows another certificate one day is not believed; a new one is taken when a person names it', async () => {
    const next = certificate('next', `IP:${name}`)
    await server.set(files(next))
    await until(async () => (await box.run(['machine', 'list'])).code !== 0)
    expect(refused(await box.run(['machine', 'list']))).toEqual(
      withWords('does not come from the one that this machine was given'),
    )
    expect((await init('--ca', next.cert)).code).toBe(0)
    expect((await laptop.run(['machine', 'list'])).stdout).toContain('laptop')
    expect((await laptop.run(['machine', 'revoke', 'box', '--yes'], asAdmin)).code).toBe(0)
    const { stdout: line } = await laptop.run(['machine', 'invite', 'box'], asAdmin)
    expect((await box.launch(['machine', 'join'], { input: line })).code).toBe(0)
    expect((await box.run(['machine', 'list'])).stdout).toContain('laptop')
  })

  test('a certificate that has expired is named as that, to people and by the daemon, and asking again is not what helps', async () => {
    const late = expired('late', `IP:${name}`)
    await server.set(files(late))
    await until(async () => (await laptop.run(['cluster', 'status'])).code !== 0)
    expect((await laptop.run(['cluster', 'init', '--ca', late.cert], asAdmin)).code).toBe(69)
    new ClusterFile(laptop.dataDir).write({
      ...(new ClusterFile(laptop.dataDir).read() as ClusterMembership),
      ca: readFileSync(late.cert, 'utf8'),
    })
    expect(refused(await laptop.run(['cluster', 'status']))).toEqual(withWords('has expired'))
    // A daemon that starts now, and has no connection from before.
    await laptop.run(['daemon', 'stop'])
    await laptop.serve()
    const told = await laptop.json<{ clusterFault: string }>(['workspace', 'list'])
    expect(told.clusterFault).toMatch(
      /cannot be used.*The certificate of the server has expired.*The server needs a new one\..*until/,
    )
    await laptop.run(['workspace', 'create', 'own'])
    const shared = await laptop.run(['workspace', 'share', 'own'])
    expect(refused(shared)).toEqual([78, expect.stringContaining('has expired')])
    const line = invitationLine({ ...(new ClusterFile(laptop.dataDir).read() as ClusterMembership) })
    const joined = await box.launch(['machine', 'join'], {
      input: line,
      env: { RELAY_DATA_DIR: box.directory('other') },
    })
    expect(refused(joined)).toEqual(withWords('has expired'))
  })
})
