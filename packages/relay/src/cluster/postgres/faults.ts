// Translates errors of the PostgreSQL server, the operating system, TLS and the driver into texts for people. No other file interprets these errors. Each
// text says what to do next.

import type { X509Certificate } from 'node:crypto'
import { cleanLine } from '@agent-relay/sdk/internal/clean'
import type { ServerFault } from '../cluster-journal.ts'
import { machineOfRole } from './roles.ts'

/** The server and the role that logs in, as the text of a fault names them. */
interface ServerLogin {
  host: string
  database: string
  user: string
  ca?: string
}
type KnownFault = Omit<ServerFault, 'text'> & { text: string | ((at: ServerLogin) => string) }

/** An error of the driver, with the server's certificate if the certificate was the cause. */
interface Thrown {
  code?: string
  message: string
  routine?: string
  certificate?: X509Certificate
  fault?: ServerFault
}

/** Thrown if the server answers, but not in PostgreSQL's protocol. */
export class NotPostgres extends Error {}

/** Makes a fault that trying again does not heal: somebody has to change something at the server. */
const lasting = (kind: ServerFault['kind'], text: KnownFault['text']): KnownFault => ({ kind, isLasting: true, text })
const passing = (kind: ServerFault['kind'], text: KnownFault['text']): KnownFault => ({ kind, isLasting: false, text })

/** Returns the machine to which the role belongs; undefined for the role of a person, such as the administrator. */
const machineOf = ({ user }: ServerLogin) => machineOfRole(user)

const invitedAgain = (name: string | undefined) =>
  `To join again: agent-relay machine revoke ${name}, agent-relay machine invite ${name} on another machine, then agent-relay machine join here.`

const older = lasting(
  'schema',
  'The cluster was made by an older version. To bring it up to date, whoever administers the database runs: agent-relay cluster init',
)

/** Faults by the error code of the server or of the operating system. */
const byCode: Record<string, KnownFault> = {
  '28P01': lasting('password', (at) =>
    machineOf(at) === undefined
      ? `The server does not accept this password for ${at.user}.`
      : `The server does not accept the login of this machine (${at.user}): that role has another password now, or is gone, as after the machine was removed ` +
        `and invited again. A PostgreSQL does not tell which of the two. ${invitedAgain(machineOf(at))}`,
  ),
  '28000': lasting(
    'rights',
    ({ user }) =>
      `The server accepts no login of ${user} from this machine. Its file pg_hba.conf says which logins it accepts.`,
  ),
  '3D000': lasting('database', (at) =>
    machineOf(at) === undefined
      ? `There is no database "${at.database}". To make it: createdb ${at.database}`
      : `There is no database "${at.database}" on this server: it was dropped or renamed, or this is another server. Whoever administers it brings it back, ` +
        'under this name.',
  ),
  '3F000': lasting('schema', (at) =>
    machineOf(at) === undefined
      ? 'There is no cluster in this database. To make one: agent-relay cluster init'
      : `There is no cluster in the database "${at.database}" (it has no schema "relay"): it was dropped, or this is another database. Whoever administers it ` +
        'brings it back, from its backup.',
  ),
  '42501': lasting('rights', (at) =>
    machineOf(at) === undefined
      ? `${at.user} may not do this. It needs a role that may create roles (CREATEROLE) and schemas in this database, as its owner may.`
      : `The role ${at.user} may not use this cluster any more. ${invitedAgain(machineOf(at))}`,
  ),
  '42883': older,
  '42703': older,
  '23505': lasting('name', 'A machine of this name is in the cluster already. Choose another: --name NAME'),
  '23514': lasting('name', 'A machine has a name of 1 to 40 letters, digits, ".", "_" or "-". Choose one: --name NAME'),
  '53100': passing(
    'full',
    'The disk of the server is full: it stores nothing. Once there is room on it again (the folder of its data, and pg_wal in it), sending continues by itself.',
  ),
  '53300': passing('busy', 'The server accepts no more connections. Raise max_connections, or close some.'),
  '57P03': passing('busy', 'The server is starting or stopping. Ask again in a moment.'),
  ECONNREFUSED: passing('away', 'Nothing listens there. Is the server running, and is this its port?'),
  ENOENT: passing('away', 'There is no socket there. Is the server running?'),
  ENOTFOUND: passing('away', ({ host }) => `There is no host "${host}".`),
  ETIMEDOUT: passing('away', 'There is no answer. Is there a firewall between?'),
  CERT_HAS_EXPIRED: lasting('certificate', 'The certificate of the server has expired. The server needs a new one.'),
  CERT_NOT_YET_VALID: lasting(
    'certificate',
    'The certificate of the server is not valid yet. Is the clock of this machine right, and that of whoever made it?',
  ),
  ERR_TLS_CERT_ALTNAME_INVALID: lasting(
    'certificate',
    ({ host }) =>
      `The certificate of the server is not for "${host}". Use a name that it is for, or give the server one for this name.`,
  ),
}

/**
 * The fault of a role that may no longer log in. It is recognized by the name of a function in the server's source, because the server's messages come in
 * many languages.
 */
const removed = lasting('removed', (at) => {
  const name = machineOf(at)
  if (name === undefined) return `${at.user} may not log in there: the role was locked, or there is none of this name.`
  return `This machine, ${name}, was removed there. ${invitedAgain(name).replace(`agent-relay machine revoke ${name}, `, '')}`
})

const untrusted = lasting('certificate', ({ ca }) =>
  ca === undefined
    ? 'This machine does not trust the certificate of the server. Name the one it comes from: agent-relay cluster init --ca FILE. It goes with each ' +
      'invitation that is made after that.'
    : 'The certificate of the server does not come from the one that this machine was given. If the server has a new one: agent-relay cluster init ' +
      '--ca FILE where it is administered, and the other machines join again (machine revoke, invite, join).',
)
/** TLS codes for a certificate whose issuer this machine does not trust. */
const untrustedPattern = /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|INVALID_CA/

const notPostgres = lasting(
  'stranger',
  'The server there does not answer as a PostgreSQL does. Is this its port? That of a PostgreSQL is usually 5432.',
)
const withoutTls = lasting(
  'tls',
  'The server has no TLS, and beyond this machine nothing is sent without it. Set ssl = on there, with a certificate (ssl_cert_file, ' +
    'ssl_key_file); where machines would not trust it, name it here: --ca FILE',
)

/** Faults by the driver's error messages: the driver has no error codes. */
const byWords: [RegExp, KnownFault][] = [
  [/does not support SSL/, withoutTls],
  [/error establishing an SSL connection|^received invalid response/, notPostgres],
  [
    /^Connection terminated unexpectedly$/,
    passing('away', 'The server has ended the connection without giving a reason.'),
  ],
  [/timeout/i, byCode.ETIMEDOUT as KnownFault],
]

/** Whether the server refused the login: the role may no longer log in, or its password has changed because the machine was invited again. */
export function isLoginFault({ kind }: ServerFault): boolean {
  return kind === 'removed' || kind === 'password'
}

function knownFor(error: Thrown): KnownFault | undefined {
  const { code = '', message, routine } = error
  if (error instanceof NotPostgres) return notPostgres
  if (code === '28000' && routine === 'InitializeSessionUserId') return removed
  if (Object.hasOwn(byCode, code)) return byCode[code]
  if (untrustedPattern.test(code)) return untrusted
  return code === '' ? byWords.find(([pattern]) => pattern.test(message))?.[1] : undefined
}

/** Returns the fault for an error of a call to this server. An unknown error is treated as temporary, and its own message is the text. */
export function faultOf(thrown: unknown, at: ServerLogin): ServerFault {
  const error = thrown as Thrown
  if (error.fault) return error.fault
  const known = knownFor(error)
  if (!known) return { kind: 'other', isLasting: false, text: cleanLine(error.message) }
  const { kind, isLasting } = known
  const text = typeof known.text === 'string' ? known.text : known.text(at)
  return { kind, isLasting, text: `${text}${kind === 'certificate' ? factsOf(error.certificate) : ''}` }
}

const factCharsMax = 200

/** Describes a certificate by its contents. An attacker may have made it, so each part is cleaned and shortened. */
function factsOf(certificate: X509Certificate | undefined): string {
  const unsent = ' Nothing was sent.'
  if (!certificate) return unsent
  const { subject, issuer, validFrom, validTo, subjectAltName, fingerprint256 } = certificate
  const told = (text: string | undefined) => cleanLine((text ?? 'nobody').replaceAll('\n', ', ')).slice(0, factCharsMax)
  const names = subjectAltName ?? subject?.split('\n').find((part) => part.startsWith('CN='))
  return ` It is issued by ${told(issuer)}, valid from ${timeOf(validFrom)} until ${timeOf(validTo)}, for ${told(names)}; its SHA-256 is ${fingerprint256}.${unsent}`
}

function timeOf(text: string): string {
  const at = Date.parse(text)
  return Number.isNaN(at) ? cleanLine(text) : new Date(at).toISOString().slice(0, 16).replace('T', ' ').concat(' UTC')
}
