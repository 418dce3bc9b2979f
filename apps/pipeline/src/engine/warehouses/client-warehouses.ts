import { randomBytes } from 'node:crypto'
import { connect, isUnavailable, type KeyRing } from '@sluice/database'
import type { Logger, Redaction } from '@sluice/process'
import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { openPostgresWarehouse } from './postgres/postgres-warehouse.ts'
import { provisionWarehouse } from './postgres/provision.ts'
import { type Warehouse, WarehouseProblem } from './warehouse.ts'

/** Every client's own warehouse, made when it is first asked for. Disposing this closes those that are open. */
export interface ClientWarehouses extends AsyncDisposable {
  /** Shared: not to be disposed of. Throws `WarehouseProblem`; asking again tries again. */
  open(client: string): Promise<Warehouse>
  /** Throws when the warehouse's server does not answer. */
  check(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

interface Parts {
  db: Kysely<DB>
  keyRing: KeyRing
  /** A role with CREATEDB and CREATEROLE in the warehouse's cluster, and no more. */
  adminUrl: string
  logger: Logger
  /** Told of the passwords, so that no log line ever holds one. */
  redaction?: Redaction
}

/** Milliseconds. By then its connections have long closed themselves, so forgetting a warehouse is closing it. */
const idle = 600_000

export function clientWarehouses(parts: Parts): ClientWarehouses {
  const opened = new Map<string, { warehouse: Promise<Warehouse>; usedAt: number }>()
  const server = connect(parts.adminUrl, { name: 'warehouse check', max: 1, statementTimeout: 2_000 })

  return {
    open(client) {
      const now = Date.now()
      for (const [other, { usedAt }] of opened) if (now - usedAt > idle) opened.delete(other)
      const known = opened.get(client)
      if (known) {
        known.usedAt = now
        return known.warehouse
      }
      const warehouse = openWarehouse(parts, client)
      opened.set(client, { warehouse, usedAt: now })
      warehouse.catch(() => opened.delete(client))
      return warehouse
    },
    async check() {
      await sql`select 1`.execute(server.db)
    },
    async [Symbol.asyncDispose]() {
      const all = [...opened.values()]
      opened.clear()
      await Promise.allSettled(all.map(async ({ warehouse }) => (await warehouse)[Symbol.asyncDispose]()))
      await server[Symbol.asyncDispose]()
    },
  }
}

/** Provisioning repeats nothing that is there and mends what is not, so it also serves a cluster that was made anew. */
async function openWarehouse(parts: Parts, client: string): Promise<Warehouse> {
  const { db, adminUrl, logger } = parts
  const credentials = await credentialsOf(parts, client)
  try {
    const access = await provisionWarehouse(adminUrl, credentials)
    const { numUpdatedRows } = await db
      .updateTable('warehouses')
      .set({ provisioned_at: sql`now()` })
      .where('client', '=', client)
      .where('provisioned_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) logger.info({ client, warehouse: access.database }, 'made a warehouse')
    return openPostgresWarehouse(access)
  } catch (error) {
    if (!isUnavailable(error)) throw error
    const sentence = 'The warehouse is not reachable just now. Try again in a moment.'
    throw new WarehouseProblem('WAREHOUSE_UNAVAILABLE', sentence, { retryable: true, cause: error })
  }
}

async function credentialsOf({ db, keyRing, redaction }: Parts, client: string) {
  const purpose = (role: 'load' | 'read') => `warehouses.${role}_password:${client}`
  const password = () => randomBytes(32).toString('base64url')
  const stored = () => db.selectFrom('warehouses').selectAll().where('client', '=', client)

  let row = await stored().executeTakeFirst()
  if (!row) {
    await db
      .insertInto('warehouses')
      .values({
        client,
        key: randomBytes(10).toString('hex'),
        load_password: keyRing.seal(password(), purpose('load')),
        read_password: keyRing.seal(password(), purpose('read')),
      })
      .onConflict((conflict) => conflict.column('client').doNothing())
      .execute()
    // Another process may have been quicker; its row is the one.
    row = await stored().executeTakeFirstOrThrow()
  }
  const loadPassword = keyRing.open(row.load_password, purpose('load'))
  const readPassword = keyRing.open(row.read_password, purpose('read'))
  redaction?.add(loadPassword, readPassword)
  return { key: row.key, loadPassword, readPassword }
}
