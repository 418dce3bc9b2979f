import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { type Client, holds } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import type { Property } from '@sluice/records'
import type { DB } from '../../database.ts'
import { type ClientRow, clientOf } from './records.ts'

/** Returns the condition for rows of the caller's client; super admins see all. For tables with a column `client`. */
export const ownClientScope = ({ roles, client }: Caller): RawBuilder<SqlBool> =>
  holds(roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${client}`

const ofClient = (column: 'code' | 'name') => sql`(select c.${sql.ref(column)} from clients c where c.uid = r.client)`

/** The searchable client properties of rows with a column `client`. */
export const clientProperties = {
  'client.id': { column: 'r.client', type: 'uid', required: true },
  'client.code': { column: ofClient('code'), type: 'string' },
  'client.name': { column: ofClient('name'), type: 'string' },
} satisfies Record<string, Property>

/** Returns the client rows of rows with a column `client`, by uid. */
export async function clientRowsOf(
  db: Kysely<DB>,
  rows: readonly { client: string }[],
): Promise<ReadonlyMap<string, ClientRow>> {
  const uids = [...new Set(rows.map(({ client }) => client))]
  const found = await sql<ClientRow>`select * from clients where uid = any(${uids})`.execute(db)
  return new Map(found.rows.map((row) => [row.uid, row]))
}

/** Returns the presented clients of rows with a column `client`, by uid. */
export async function clientsOf(
  db: Kysely<DB>,
  rows: readonly { client: string }[],
  locales: readonly string[],
): Promise<ReadonlyMap<string, Client>> {
  const found = await clientRowsOf(db, rows)
  return new Map([...found].map(([uid, row]) => [uid, clientOf(row, locales)]))
}

/**
 * Returns the client of a new row: the caller's own client, or any client for a super admin. The error does not reveal
 * whether another client exists.
 */
export async function resolveClient(trx: Transaction<DB>, caller: Caller, wanted = caller.client): Promise<string> {
  const client = wanted.toLowerCase()
  if (client === caller.client) return client
  const { rows } = holds(caller.roles, 'ROLE_SUPER_ADMIN')
    ? await sql`select from clients where uid = ${client} for key share`.execute(trx)
    : { rows: [] }
  if (rows.length === 0) throw problems.refused('/client/id', 'The client does not exist.')
  return client
}
