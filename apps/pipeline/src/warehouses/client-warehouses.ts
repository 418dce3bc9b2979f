import { warehouseTypes } from '@sluice/contracts/connector-types'
import { randomBytes } from 'node:crypto'
import { connect, isUnavailable, type KeyRing } from '@sluice/database'
import type { Logger, Redaction } from '@sluice/process'
import { sql, type Kysely, type Selectable } from 'kysely'
import { catalogueClient, catalogueKey } from './public-dataset-owner.ts'
import type { DB, Warehouses } from '../database.ts'
import { ledgerKey } from '@sluice/warehouses/postgres/postgres-connections'
import type { WarehouseKind } from '@sluice/warehouses/warehouse-kinds'
import { openPostgresWarehouse } from '@sluice/warehouses/postgres/postgres-warehouse'
import {
  provisionWarehouse,
  removeWarehouse,
  warehouseAccess,
} from '@sluice/warehouses/postgres/server/provision-warehouse'
import { type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'

/**
 * The warehouses of all organisations (`client` is an organisation's uid). Do not dispose of returned warehouses,
 * because callers share them. Dispose of this object instead.
 */
export interface ClientWarehouses extends AsyncDisposable {
  /** The kinds of warehouses that schemas can use in this installation. */
  readonly kinds: readonly WarehouseKind[]
  /**
   * Returns the warehouse for loading. Creates it if the organisation has none, and repairs it if it was deleted or has
   * an older version.
   */
  open(client: string): Promise<Warehouse>
  /**
   * Returns the organisation's warehouse, in which tables may be read and dropped but not created. Returns undefined if
   * the organisation has none. Does not connect to the server.
   */
  find(client: string): Promise<Warehouse | undefined>
  /** Returns the organisation's name in its warehouses, and chooses one if it has none. The name never changes. */
  ensureKey(client: string): Promise<string>
  /** Deletes an organisation's warehouses with all their data, and closes their connections. Safe to repeat. */
  erase(client: string): Promise<void>
  /**
   * Returns the credentials of the role `read`, for sources that copy from the PostgreSQL warehouse. Returns undefined
   * if the organisation has no such warehouse.
   */
  readAccess(client: string): Promise<ReadAccess | undefined>
  /** Throws if the PostgreSQL server of the warehouses does not respond. */
  check(): Promise<void>
  /**
   * The configured servers of other kinds, for health checks. PostgreSQL warehouses work without them. `check` throws
   * if the server does not respond.
   */
  readonly checks: readonly { name: string; check(): Promise<void> }[]
  [Symbol.asyncDispose](): Promise<void>
}

export interface ReadAccess {
  host: string
  port: number
  database: string
  ssl: boolean
  /** Whether the connection accepts any server certificate. */
  trustServerCertificate: boolean
  user: string
  password: string
}

interface ClientWarehouseOptions {
  db: Kysely<DB>
  keyRing: KeyRing
  /** The URL of a role in the warehouse's cluster that has CREATEDB and CREATEROLE, and no other privileges. */
  adminUrl: string
  logger: Logger
  /** Redacts log lines. Passwords of warehouses are added to it. */
  redaction: Redaction
  /**
   * The maximum number of concurrent loads of one organisation in this process. Undefined if the process only reads.
   */
  loads?: number
  /** The maximum size of an organisation's database in bytes. Default: no limit. */
  databaseBytes?: number
  /** See `WarehouseAccess.niceness`. */
  niceness?: number
  /** Days for which the previous versions of tables are kept. */
  keepDays?: number
}

/** Milliseconds without use after which the cache discards a warehouse that has no open connections. */
const idleTimeoutMs = 600_000

/** The codes of errors that provisioning the warehouse again can repair. */
const repairableCodes = new Set(['WAREHOUSE_MISSING', 'WAREHOUSE_ACCESS_DENIED', 'WAREHOUSE_OUTDATED', 'QUERY_TIMEOUT'])

export function clientWarehouses(options: ClientWarehouseOptions): ClientWarehouses {
  const { db, adminUrl, logger } = options
  const openWarehouses = new Map<string, { warehouse: Warehouse; usedAt: number }>()
  const opening = new Map<string, Promise<Warehouse>>()
  const server = connect(adminUrl, { name: 'warehouse check', max: 1, statementTimeout: 2_000 })

  /**
   * Returns this process's instance of a warehouse. Instances with open connections stay in the cache, because a second
   * instance would double the connections.
   */
  function getWarehouse(row: WarehouseRow): Warehouse {
    const now = Date.now()
    for (const [other, { usedAt, warehouse }] of openWarehouses)
      if (now - usedAt > idleTimeoutMs && warehouse.upkeep.countConnections() === 0) openWarehouses.delete(other)
    const openWarehouse = openWarehouses.get(row.client)
    if (openWarehouse) {
      openWarehouse.usedAt = now
      return openWarehouse.warehouse
    }
    const { loads = 0, niceness = 0, keepDays = 0, databaseBytes } = options
    const access = { ...warehouseAccess(adminUrl, unsealCredentials(options, row)), niceness }
    const warehouse = openPostgresWarehouse(access, { loads, keepDays, databaseBytes })
    openWarehouses.set(row.client, { warehouse, usedAt: now })
    return warehouse
  }

  async function openOrProvision(client: string): Promise<Warehouse> {
    const row = (await findWarehouseRow(db, client)) ?? (await insertRow(options, client))
    const warehouse = getWarehouse(row)
    if (row.provisioned_at) {
      const problem = await warehouse.upkeep.check().catch((error: unknown) => error)
      if (problem === undefined) return warehouse
      if (!(problem instanceof WarehouseProblem && repairableCodes.has(problem.code))) throw problem
      logger.warn({ client, reason: problem.message }, 'provisioning a warehouse again')
    }
    const { database } = await provisionWarehouse(adminUrl, unsealCredentials(options, row))
    await db.updateTable('warehouses').set({ provisioned_at: sql`now()` }).where('client', '=', client).execute()
    logger.info({ client, warehouse: database }, 'provisioned a warehouse')
    return warehouse
  }

  return {
    kinds: [warehouseTypes.postgres],
    checks: [],
    open(client) {
      const one =
        opening.get(client) ??
        openOrProvision(client)
          .catch(throwAsUnavailable)
          .finally(() => opening.delete(client))
      opening.set(client, one)
      return one
    },
    async find(client) {
      const row = await findWarehouseRow(db, client)
      return row?.provisioned_at ? getWarehouse(row) : undefined
    },
    ensureKey: async (client) => ((await findWarehouseRow(db, client)) ?? (await insertRow(options, client))).key,
    async erase(client) {
      const row = await findWarehouseRow(db, client)
      if (!row) return
      await openWarehouses.get(client)?.warehouse[Symbol.asyncDispose]()
      openWarehouses.delete(client)
      await removeWarehouse(adminUrl, row.key).catch(throwAsUnavailable)
      await db.updateTable('warehouses').set({ provisioned_at: null }).where('client', '=', client).execute()
      logger.info({ client }, 'removed a warehouse')
    },
    async readAccess(client) {
      const row = await findWarehouseRow(db, client)
      if (!row?.provisioned_at) return undefined
      const { host, port, database, ssl, read } = warehouseAccess(adminUrl, unsealCredentials(options, row))
      return { host, port, database, ssl: Boolean(ssl), trustServerCertificate: trustsAnyCertificate(ssl), ...read }
    },
    async check() {
      await sql`select 1`.execute(server.db)
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(opening.values())
      const opened = [...openWarehouses.values()]
      openWarehouses.clear()
      await Promise.allSettled(opened.map(({ warehouse }) => warehouse[Symbol.asyncDispose]()))
      await server[Symbol.asyncDispose]()
    },
  }
}

const trustsAnyCertificate = (ssl: ReturnType<typeof warehouseAccess>['ssl']) =>
  typeof ssl === 'object' && ssl.rejectUnauthorized === false

type WarehouseRow = Selectable<Warehouses>

function throwAsUnavailable(error: unknown): never {
  if (!isUnavailable(error)) throw error
  const sentence = 'The warehouse cannot be reached. Try again later, or ask the operator to check it.'
  throw new WarehouseProblem('WAREHOUSE_UNAVAILABLE', sentence, { retryable: true, cause: error })
}

function findWarehouseRow(db: Kysely<DB>, client: string): Promise<WarehouseRow | undefined> {
  return db.selectFrom('warehouses').selectAll().where('client', '=', client).executeTakeFirst()
}

const sealPurpose = (client: string, role: 'load' | 'read') => `warehouses.${role}_password:${client}`

/** Inserts the row of an organisation's warehouse with random passwords, unless it exists. Returns the row. */
async function insertRow({ db, keyRing }: ClientWarehouseOptions, client: string): Promise<WarehouseRow> {
  const createEncryptedPassword = (role: 'load' | 'read') =>
    keyRing.seal(randomBytes(32).toString('base64url'), sealPurpose(client, role))
  await db
    .insertInto('warehouses')
    .values({
      client,
      key: client === catalogueClient ? catalogueKey : randomBytes(10).toString('hex'),
      load_password: createEncryptedPassword('load'),
      read_password: createEncryptedPassword('read'),
    })
    .onConflict((conflict) => conflict.column('client').doNothing())
    .execute()
  // Another process may have inserted the row first; then its row is valid.
  return db.selectFrom('warehouses').selectAll().where('client', '=', client).executeTakeFirstOrThrow()
}

/** Returns the user name and the passwords of an organisation's warehouses, or undefined if it has none yet. */
export async function warehouseCredentials(
  options: Pick<ClientWarehouseOptions, 'db' | 'keyRing' | 'redaction'>,
  client: string,
) {
  const row = await findWarehouseRow(options.db, client)
  return row && unsealCredentials(options, row)
}

function unsealCredentials(
  { keyRing, redaction }: Pick<ClientWarehouseOptions, 'keyRing' | 'redaction'>,
  { client, key, load_password, read_password }: WarehouseRow,
) {
  const loadPassword = keyRing.open(load_password, sealPurpose(client, 'load'))
  const readPassword = keyRing.open(read_password, sealPurpose(client, 'read'))
  redaction.add(loadPassword, readPassword, ledgerKey(loadPassword))
  return { key, loadPassword, readPassword }
}
