import { isUnavailable, type KeyRing } from '@sluice/database'
import type { Logger, Redaction } from '@sluice/process'
import { networkProblem } from '@sluice/warehouses/postgres/server/reader-role-networks'
import { keyOfReader, type ReaderState } from '@sluice/warehouses/warehouse-reader-logins'
import { type WarehouseKind, warehouseName } from '@sluice/warehouses/warehouse-kinds'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'
import { type Kysely, type Selectable, type Transaction, sql } from 'kysely'
import type { DB, WarehouseReaders as ReadersTable } from '../database.ts'
import type { IdentityLookups } from '../identity/identity-lookups.ts'
import { type ClientWarehouses, warehouseCredentials } from '../warehouses/client-warehouses.ts'
import type { ReaderEndpoint } from './reader-addresses.ts'

export type StoredReader = Omit<Selectable<ReadersTable>, 'schema_ids' | 'networks'> & {
  schema_ids: number[]
  networks: string[]
}

/** Applies warehouse readers (database logins with which other programs read schemas) to the warehouses. */
export interface WarehouseReaders {
  /**
   * Returns the server of a kind of warehouse. Throws NOT_SUPPORTED_HERE if the kind has no readers or the server has
   * no public address.
   */
  getEndpoint(kind: WarehouseKind): ReaderEndpoint & Required<Pick<ReaderEndpoint, 'address'>>
  /**
   * Returns the server for stored readers of a kind. Returns undefined if the operator has removed the warehouse from
   * the settings.
   */
  findEndpoint(kind: string): ReaderEndpoint | undefined
  /**
   * Creates or changes a login as its row defines, and sets `password` if it is given. The row stays locked, so
   * concurrent changes are applied in their order. Throws `WarehouseProblem`; `sync` then tries again.
   */
  apply(id: number, password?: string): Promise<void>
  /** Ends the sessions of logins and deletes the logins. Never throws; `sync` tries again what failed. */
  drop(readers: readonly Pick<StoredReader, 'provider_schema' | 'login'>[]): Promise<void>
  /** Applies the networks from which readers may connect, for all readers. */
  applyNetworks(): Promise<void>
  /** Ends sessions that exceed their limits, for example of locks. Returns their number. */
  limitSessions(): Promise<number>
  /**
   * Corrects differences between the stored readers and the warehouses: expired readers, readers of disabled and
   * deleted organisations, and changes that could not be applied. Records which readers are in use. Returns the
   * number of changed logins.
   */
  sync(signal: AbortSignal): Promise<number>
}

interface WarehouseReadersOptions {
  db: Kysely<DB>
  keyRing: KeyRing
  redaction: Redaction
  warehouses: ClientWarehouses
  endpoints: ReadonlyMap<WarehouseKind, ReaderEndpoint>
  identity: Pick<IdentityLookups, 'currentClients'>
  logger: Logger
}

export function warehouseReaders(options: WarehouseReadersOptions): WarehouseReaders {
  const { db, endpoints, logger } = options
  /** Whether the readers of each organisation may read, as of the last lookup. */
  const mayClientRead = new Map<string, boolean>()
  /** The readers with an invalid network that were already logged. */
  const reportedLogins = new Set<string>()
  /** The warehouses in which the last round found no login of this installation. */
  const withoutLogins = new Set<WarehouseKind>()

  async function apply(id: number, password?: string): Promise<void> {
    await db.transaction().execute(async (trx) => {
      const reader = await lockReader(trx, id)
      if (!reader) return
      const isActive = !hasExpired(reader) && (mayClientRead.get(reader.client) ?? true)
      await defineReader(options, trx, reader, { isActive, password })
    })
  }

  async function drop(readers: readonly Pick<StoredReader, 'provider_schema' | 'login'>[]): Promise<void> {
    for (const { provider_schema, login } of readers)
      await endpoints
        .get(provider_schema as WarehouseKind)
        ?.server.drop(login)
        .catch((error: unknown) => logger.warn({ err: error, login }, 'a warehouse reader could not be dropped yet'))
  }

  async function applyNetworks(): Promise<void> {
    // Take a lock, so that no process overwrites newer rules with older ones.
    await db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtext('networks of warehouse readers'))`.execute(trx)
      const readers = await listReaders(trx)
      readers.forEach(reportInvalidNetworks)
      for (const [kind, { server }] of endpoints) {
        const readersOfKind = readers.filter((reader) => reader.provider_schema === kind)
        await server.setNetworks?.(readersOfKind.map(({ login, networks }) => ({ login, networks })))
      }
    })
  }

  /**
   * Logs the first invalid network of a reader, once. The rules on the server omit invalid networks, so that these do
   * not affect other readers.
   */
  function reportInvalidNetworks({ login, networks }: StoredReader): void {
    const reason = networks.map(networkProblem).find((problem) => problem !== undefined)
    if (reason === undefined || reportedLogins.has(login)) return
    reportedLogins.add(login)
    logger.warn({ login, reason }, 'a warehouse reader has an invalid network, from which it cannot connect')
  }

  /** Looks up whether the readers of each organisation may read. They may not if the organisation no longer exists. */
  async function updateActiveClients(uids: readonly string[]): Promise<void> {
    const clients = await options.identity.currentClients(uids)
    const clientsById = new Map(clients.map((client) => [client.id, client]))
    for (const uid of uids) {
      const client = clientsById.get(uid)
      mayClientRead.set(uid, client !== undefined && !client.disabled && client.pipelinesEnabled)
    }
  }

  /**
   * Returns whether a login on the server must change: it is active but should not be, is inactive but should be
   * active, or is inactive and still has sessions.
   */
  function isOutdated(reader: StoredReader, login: ReaderState | undefined): boolean {
    // If the state of the organisation is unknown, do not change the login.
    const mayRead = mayClientRead.get(reader.client) ?? login?.active ?? true
    const shouldBeActive = !hasExpired(reader) && mayRead
    return login?.active !== shouldBeActive || (!shouldBeActive && login.sessions > 0)
  }

  /** Applies a reader. Returns false if that failed; the next round tries again. */
  async function tryToApply({ id, login }: StoredReader): Promise<boolean> {
    try {
      await apply(id)
      return true
    } catch (error) {
      logger.warn({ err: error, login }, 'a warehouse reader could not be changed yet')
      return false
    }
  }

  /** Corrects the readers on the server of one kind of warehouse. Returns the number of changed logins. */
  async function syncEndpoint(kind: WarehouseKind, { server }: ReaderEndpoint, signal: AbortSignal): Promise<number> {
    const observed = new Map((await server.observe()).map((state) => [state.login, state]))
    // Read the rows after the logins: a login that has no row then belongs to a deleted reader.
    const readers = (await listReaders(db)).filter((reader) => reader.provider_schema === kind)
    await recordUse(
      db,
      readers.filter(({ login }) => observed.get(login)?.sessions),
    )
    let changed = 0
    for (const reader of readers) {
      signal.throwIfAborted()
      const mustChange = reader.pending || isOutdated(reader, observed.get(reader.login))
      if (mustChange && (await tryToApply(reader))) changed += 1
    }
    const storedLogins = new Set(readers.map(({ login }) => login))
    const keys = new Set((await db.selectFrom('warehouses').select('key').execute()).map(({ key }) => key))
    // Ignore logins of other installations on the same server, which have other keys.
    const ownLogins = [...observed.keys()].filter((login) => keys.has(keyOfReader(login)))
    const orphans = ownLogins.filter((login) => !storedLogins.has(login))
    await drop(orphans.map((login) => ({ provider_schema: kind, login })))
    if (ownLogins.length === 0) withoutLogins.add(kind)
    return changed + orphans.length
  }

  return {
    getEndpoint(kind) {
      const endpoint = endpoints.get(kind)
      if (!endpoint)
        throw new WarehouseProblem(
          'NOT_SUPPORTED_HERE',
          `Warehouse readers are available for schemas in PostgreSQL and ClickHouse. This schema is in ${warehouseName(kind)}.`,
        )
      const { address } = endpoint
      if (!address)
        throw new WarehouseProblem(
          'NOT_SUPPORTED_HERE',
          `Warehouse readers need an address to which programs can connect. Ask the operator to set ${endpoint.addressSetting}.`,
        )
      return { ...endpoint, address }
    },
    findEndpoint: (kind) => endpoints.get(kind as WarehouseKind),
    apply,
    drop,
    applyNetworks,
    async limitSessions() {
      let ended = 0
      for (const { server } of endpoints.values()) ended += (await server.limitSessions?.()) ?? 0
      return ended
    },
    async sync(signal) {
      const readers = await listReaders(db)
      // While the identity service is down, keep the last known state.
      await updateActiveClients([...new Set(readers.map(({ client }) => client))]).catch((error: unknown) =>
        logger.warn({ err: error }, 'the organisations of warehouse readers could not be checked'),
      )
      let changed = 0
      const failures: unknown[] = []
      for (const [kind, endpoint] of endpoints) {
        if (readers.some((reader) => reader.provider_schema === kind)) withoutLogins.delete(kind)
        if (withoutLogins.has(kind)) continue
        try {
          changed += await syncEndpoint(kind, endpoint, signal)
        } catch (error) {
          failures.push(error)
        }
      }
      if (readers.length > 0 || changed > 0) await applyNetworks()
      if (failures.length > 0) throw failures[0]
      return changed
    },
  }
}

const hasExpired = ({ expires_at }: Pick<StoredReader, 'expires_at'>): boolean =>
  expires_at !== null && expires_at.getTime() <= Date.now()

const listReaders = (db: Kysely<DB>): Promise<StoredReader[]> =>
  db.selectFrom('warehouse_readers').selectAll().orderBy('id').$castTo<StoredReader>().execute()

const lockReader = (trx: Transaction<DB>, id: number): Promise<StoredReader | undefined> =>
  trx
    .selectFrom('warehouse_readers')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .$castTo<StoredReader>()
    .executeTakeFirst()

/** Creates or changes a login as its row defines, and records that the warehouse has this state. */
async function defineReader(
  { db, keyRing, redaction, warehouses, endpoints }: WarehouseReadersOptions,
  trx: Transaction<DB>,
  reader: StoredReader,
  { isActive, password }: { isActive: boolean; password: string | undefined },
): Promise<void> {
  const endpoint = endpoints.get(reader.provider_schema as WarehouseKind)
  if (!endpoint) return
  const rows = await trx.selectFrom('schemas').select('schema_name').where('id', 'in', reader.schema_ids).execute()
  const schemas = rows.map(({ schema_name }) => schema_name)
  if (isActive) {
    const { catalog } = await warehouses.open(reader.client)
    for (const schema of schemas) await catalog.ensureSchema(schema)
  }
  const credentials = await warehouseCredentials({ db, keyRing, redaction }, reader.client)
  if (!credentials) return
  const { login, expires_at } = reader
  try {
    await endpoint.server.define(
      credentials,
      { login, schemas, active: isActive, ...(expires_at && { expires: expires_at }) },
      password,
    )
  } catch (error) {
    if (!isUnavailable(error)) throw error
    throw new WarehouseProblem('WAREHOUSE_UNAVAILABLE', 'The warehouse cannot be reached. Try again later.', {
      retryable: true,
      cause: error,
    })
  }
  await trx.updateTable('warehouse_readers').set({ pending: false }).where('id', '=', reader.id).execute()
}

/** Records that readers have open sessions, at most once a minute per reader. */
async function recordUse(db: Kysely<DB>, readers: readonly Pick<StoredReader, 'id'>[]): Promise<void> {
  if (readers.length === 0) return
  await db
    .updateTable('warehouse_readers')
    .set({ last_used_at: sql`now()` })
    .where(
      'id',
      'in',
      readers.map(({ id }) => id),
    )
    .where(sql<boolean>`(last_used_at is null or last_used_at < now() - interval '1 minute')`)
    .execute()
}

/**
 * Removes a schema from all readers, in the transaction that deletes the schema. A reader that loses its last schema is
 * deleted. The others are changed, and pending until the warehouse has the change. Returns both lists.
 */
export async function detachReaders(trx: Transaction<DB>, schema: { id: number; client: string }) {
  const readersOfSchema = await trx
    .selectFrom('warehouse_readers')
    .selectAll()
    .where('client', '=', schema.client)
    .where(sql<boolean>`schema_ids @> ${JSON.stringify([schema.id])}::jsonb`)
    .orderBy('id')
    .forUpdate()
    .$castTo<StoredReader>()
    .execute()
  const deletedReaders: StoredReader[] = []
  const changedReaders: StoredReader[] = []
  for (const reader of readersOfSchema) {
    const schema_ids = reader.schema_ids.filter((id) => id !== schema.id)
    if (schema_ids.length === 0) {
      await trx.deleteFrom('warehouse_readers').where('id', '=', reader.id).execute()
      deletedReaders.push(reader)
      continue
    }
    const change = { schema_ids: JSON.stringify(schema_ids), pending: true, version: sql<number>`version + 1` }
    await trx.updateTable('warehouse_readers').set(change).where('id', '=', reader.id).execute()
    changedReaders.push(reader)
  }
  return { deletedReaders, changedReaders }
}
