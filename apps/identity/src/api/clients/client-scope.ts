import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { type Client, holds } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http'
import type { Property } from '@sluice/records'
import type { DB } from '../../database.ts'
import { type ClientRow, clientOf } from './records.ts'

/** The rows of one's own client; a super admin crosses clients. For tables with a column `client`. */
export const ownClientScope = ({ roles, client }: Caller): RawBuilder<SqlBool> =>
  holds(roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${client}`

const ofClient = (column: 'code' | 'name') => sql`(select c.${sql.ref(column)} from clients c where c.uid = r.client)`

/** The searchable client properties of such rows. */
export const clientProperties = {
  'client.id': { column: 'r.client', type: 'uid', required: true },
  'client.code': { column: ofClient('code'), type: 'string' },
  'client.name': { column: ofClient('name'), type: 'string' },
} satisfies Record<string, Property>

/** The rows of the clients that such rows belong to, by uid. */
export async function clientRowsOf(
  db: Kysely<DB>,
  rows: readonly { client: string }[],
): Promise<ReadonlyMap<string, ClientRow>> {
  const uids = [...new Set(rows.map(({ client }) => client))]
  const found = await sql<ClientRow>`select * from clients where uid = any(${uids})`.execute(db)
  return new Map(found.rows.map((row) => [row.uid, row]))
}

/** The same as they go out. */
export async function clientsOf(
  db: Kysely<DB>,
  rows: readonly { client: string }[],
  locales: readonly string[],
): Promise<ReadonlyMap<string, Client>> {
  const found = await clientRowsOf(db, rows)
  return new Map([...found].map(([uid, row]) => [uid, clientOf(row, locales)]))
}

/**
 * The client that something new belongs to: the caller's own, or for a super admin any. The error does not reveal whether
 * another client exists.
 */
export async function resolveClient(trx: Transaction<DB>, caller: Caller, wanted = caller.client): Promise<string> {
  const client = wanted.toLowerCase()
  if (client === caller.client) return client
  const { rows } = holds(caller.roles, 'ROLE_SUPER_ADMIN')
    ? await sql`select from clients where uid = ${client} for key share`.execute(trx)
    : { rows: [] }
  if (rows.length === 0) throw problems.refused('/client/id', 'There is no such client.')
  return client
}
