// The parcel of an invitation: the name and the key of the workspace that the invitation is for. It is stored in the database, encrypted with the
// invitation's secret, which the database does not know. It is deleted once the machine has joined or the invitation is over.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Client } from './connection.ts'
import { machineFunctionAttributes } from './functions.ts'

export interface Parcel {
  /** The name of the workspace. `id` is its id, which never changes. */
  workspace: string
  id: string
  key: string
}

export const parcelTables = ['ALTER TABLE relay.machines ADD COLUMN parcel text']

/** Returns the parcel of the calling invitation and deletes it, so that it is handed out once. */
const take = `CREATE FUNCTION relay.parcel_1() RETURNS text LANGUAGE plpgsql ${machineFunctionAttributes} SET jit = off AS $$
DECLARE m relay.machines;
BEGIN
  SELECT * INTO m FROM relay.machines o WHERE o.invitation = session_user AND o.invited_until > clock_timestamp() FOR UPDATE;
  UPDATE relay.machines SET parcel = NULL WHERE id = m.id;
  RETURN m.parcel;
END $$`

export const parcelFunctions = [take]

const [cipher, saltBytes, nonceBytes, tagBytes] = ['aes-256-gcm', 16, 12, 16] as const

function keyFrom(secret: string, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, 'agent-relay parcel', 32))
}

/** Encrypts a parcel with the invitation's secret. */
export function sealParcel(secret: string, parcel: Parcel): string {
  const [salt, nonce] = [randomBytes(saltBytes), randomBytes(nonceBytes)]
  const sealing = createCipheriv(cipher, keyFrom(secret, salt), nonce)
  const sealed = [sealing.update(JSON.stringify(parcel), 'utf8'), sealing.final()]
  return Buffer.concat([salt, nonce, sealing.getAuthTag(), ...sealed]).toString('base64url')
}

/** Decrypts a parcel; undefined if it was not encrypted with this secret. */
export function unsealParcel(secret: string, text: string): Parcel | undefined {
  try {
    const bytes = Buffer.from(text, 'base64url')
    const from = saltBytes + nonceBytes
    const opening = createDecipheriv(
      cipher,
      keyFrom(secret, bytes.subarray(0, saltBytes)),
      bytes.subarray(saltBytes, from),
    )
    opening.setAuthTag(bytes.subarray(from, from + tagBytes))
    const opened = opening.update(bytes.subarray(from + tagBytes), undefined, 'utf8') + opening.final('utf8')
    const { workspace, id, key } = JSON.parse(opened) as Record<string, unknown>
    return typeof workspace === 'string' && typeof id === 'string' && typeof key === 'string'
      ? { workspace, id, key }
      : undefined
  } catch {
    return undefined
  }
}

/** Fetches and decrypts an invitation's parcel, in the transaction in which the machine joins. A database with an older schema has no parcels. */
export async function takeParcel(client: Client, secret: string): Promise<Parcel | undefined> {
  const { rows } = await client.query("SELECT to_regprocedure('relay.parcel_1()') IS NOT NULL AS is_there")
  if (!rows[0].is_there) return undefined
  const taken = await client.query('SELECT relay.parcel_1() AS text')
  const { text } = taken.rows[0]
  return text === null ? undefined : unsealParcel(secret, text)
}
