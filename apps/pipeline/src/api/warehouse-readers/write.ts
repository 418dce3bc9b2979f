import { type NewWarehouseReader, type WarehouseReaderBody, hasRole } from '@sluice/contracts'
import { type Caller, JsonResponse, type OperationInput, problems } from '@sluice/http-server'
import { type RecordWriter, redactSecrets, visibleTo } from '@sluice/records'
import { newReaderLogin, newReaderPassword, readerLimits } from '@sluice/warehouses/warehouse-reader-logins'
import { networkProblem } from '@sluice/warehouses/postgres/server/reader-role-networks'
import { type WarehouseKind, warehouseName } from '@sluice/warehouses/warehouse-kinds'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'
import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { WarehouseReaders } from '../../warehouse-readers/warehouse-readers.ts'
import { requestSlots } from '../concurrency-limits.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { type WarehouseReaderRow, warehouseReaderRecords } from './records.ts'

export const warehouseReaderWriting: RecordWriter<PipelineContext, WarehouseReaderRow, WarehouseReaderBody> = {
  async check(body, { caller }) {
    assertMayReadAllRows(caller)
    for (const [index, network] of (body.networks ?? []).entries()) {
      const problem = networkProblem(network)
      if (problem) throw problems.refused(`/networks/${index}`, problem)
    }
  },

  async columns(trx, body, current, { caller, readers }) {
    const schemas = await lockSchemas(trx, body, caller)
    const kind = getCommonWarehouseKind(schemas, current)
    const { server } = getEndpoint(readers, kind)
    const networks = chooseNetworks(body, current, caller)
    if (networks.length > 0 && !server.setNetworks)
      throw problems.refused(
        '/networks',
        'Networks can only be restricted on a PostgreSQL server that Sluice runs. Leave the list empty, and ask the operator to restrict them.',
      )
    if (!current) await assertBelowLimit(trx, caller.client)
    return {
      ...(current ? {} : { client: caller.client, provider_schema: kind }),
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      schema_ids: JSON.stringify(schemas.map(({ id }) => id)),
      networks: JSON.stringify(networks),
      expires_at: chooseExpiry(body, current),
      pending: true,
    }
  },

  async beforeDelete() {},

  async afterDelete(row, { readers, logger }) {
    await readers.drop([row])
    // If this fails, a worker tries it again.
    await readers
      .applyNetworks()
      .catch((error: unknown) => logger.warn({ err: error }, 'the networks of readers could not be changed yet'))
  },
}

function assertMayReadAllRows({ roles }: Pick<Caller, 'roles'>): void {
  if (!hasRole(roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'))
    throw problems.forbidden(
      'This also needs ROLE_VIEW_DATA_ALL_DATA_PIPELINE, because a warehouse reader reads all rows of its schemas.',
    )
}

interface ChosenSchema {
  id: number
  provider_schema: string
  schema_name: string
}

/**
 * Returns the schemas of the body in its order, and locks them against deletion. Throws 422 for a schema that the
 * caller may not see.
 */
async function lockSchemas(trx: Transaction<DB>, body: WarehouseReaderBody, caller: Caller): Promise<ChosenSchema[]> {
  const uids = body.schemas.map(({ id }) => id.toLowerCase())
  const repeatedIndex = uids.findIndex((uid, index) => uids.indexOf(uid) !== index)
  if (repeatedIndex !== -1)
    throw problems.refused(`/schemas/${repeatedIndex}`, 'This schema is in the list twice. Remove one of them.')
  const rows = await trx
    .selectFrom('schemas as r')
    .select(['r.id', 'r.uid', 'r.provider_schema', 'r.schema_name'])
    .where('r.uid', 'in', uids)
    .where('r.client', '=', caller.client)
    .where(visibleTo(caller, 'READ'))
    .orderBy('r.id')
    .forKeyShare()
    .execute()
  const byUid = new Map(rows.map((schema) => [schema.uid, schema]))
  return uids.map((uid, index) => {
    const schema = byUid.get(uid)
    if (!schema)
      throw problems.refused(
        `/schemas/${index}/id`,
        `No schema that you may see has the id ${uid}. Choose another schema.`,
      )
    return schema
  })
}

/**
 * Returns the type of the warehouse that contains these schemas. Throws 422 if one of them is in a warehouse of another
 * type than the first one, or than that of the existing reader.
 */
function getCommonWarehouseKind(
  schemas: readonly ChosenSchema[],
  current: WarehouseReaderRow | undefined,
): WarehouseKind {
  const kind = (current?.provider_schema ?? schemas[0]!.provider_schema) as WarehouseKind
  const otherIndex = schemas.findIndex(({ provider_schema }) => provider_schema !== kind)
  if (otherIndex !== -1) {
    const otherKind = schemas[otherIndex]!.provider_schema as WarehouseKind
    throw problems.refused(
      `/schemas/${otherIndex}`,
      `This schema is in another warehouse (${warehouseName(otherKind)}) than the others (${warehouseName(kind)}). Create a reader for each warehouse.`,
    )
  }
  return kind
}

/**
 * Returns the server on which the login of a reader is created. Throws 422 if this installation does not allow logins
 * there.
 */
function getEndpoint(readers: WarehouseReaders, kind: WarehouseKind) {
  try {
    return readers.getEndpoint(kind)
  } catch (error) {
    throw error instanceof WarehouseProblem ? problems.refused('/schemas', error.message) : error
  }
}

/**
 * Returns the networks from which the reader may connect; the stored ones if the body omits them. Only callers with the
 * role for firewall rules may change them.
 */
function chooseNetworks(
  body: WarehouseReaderBody,
  current: WarehouseReaderRow | undefined,
  { roles }: Caller,
): string[] {
  const stored = current?.networks ?? []
  const { networks = stored } = body
  const isSame = networks.length === stored.length && networks.every((network) => stored.includes(network))
  if (!isSame && !hasRole(roles, 'ROLE_MANAGE_FIREWALL_RULE'))
    throw problems.forbidden(
      'Changing `networks` needs ROLE_MANAGE_FIREWALL_RULE. Omit the field to keep the stored networks.',
    )
  return networks
}

/** Returns the time at which the reader expires, or null. Throws 422 for a new time that is in the past. */
function chooseExpiry({ expires }: WarehouseReaderBody, current: WarehouseReaderRow | undefined): Date | null {
  if (expires === undefined) return null
  const time = new Date(expires)
  const isUnchanged = time.getTime() === current?.expires_at?.getTime()
  if (time.getTime() <= Date.now() && !isUnchanged)
    throw problems.refused(
      '/expires',
      'This time is in the past. Choose a later time, or delete the reader to end it now.',
    )
  return time
}

/** Throws 422 if the organisation has the maximum number of readers. */
async function assertBelowLimit(trx: Transaction<DB>, client: string): Promise<void> {
  // Lock until the end of the transaction, so that concurrent requests cannot exceed the limit together.
  await sql`select pg_advisory_xact_lock(hashtext(${`warehouse readers:${client}`}))`.execute(trx)
  const { count } = await trx
    .selectFrom('warehouse_readers')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('client', '=', client)
    .executeTakeFirstOrThrow()
  if (count >= readerLimits.readers)
    throw problems.refused(
      '/',
      `Your organisation has ${readerLimits.readers} warehouse readers, which is the maximum. Delete one that is not used.`,
    )
}

type ReaderRequest<Path extends string, Body = undefined> = OperationInput<PipelineContext, Path, undefined, Body>

/**
 * Creates a warehouse reader: commits the row, then creates the login. Only this response contains the password. If
 * creating the login fails, deletes the row and the login again.
 */
export async function createReader(
  input: ReaderRequest<'/warehouse-readers', WarehouseReaderBody>,
): Promise<JsonResponse<NewWarehouseReader>> {
  const { body, caller, write, request, readers, warehouses } = input
  await warehouseReaderWriting.check(body, input)
  const login = newReaderLogin(await warehouses.ensureKey(caller.client))
  const row = await write(async (trx) => {
    const columns = await warehouseReaderWriting.columns(trx, body, undefined, input)
    const inserted = await warehouseReaderRecords.insert(trx, caller, { ...columns, login })
    request.audit(inserted.uid, { after: redactSecrets(inserted) })
    return inserted
  })
  const password = newReaderPassword()
  try {
    await applyReader(input, row, password)
  } catch (error) {
    await write(async (trx) => {
      await warehouseReaderRecords.remove(trx, row)
      request.audit(row.uid, { before: redactSecrets(row), failed: 'The warehouse did not create the login.' })
    })
    await readers.drop([row])
    throw error
  }
  const { body: answer, headers } = await answerWithPassword(input, row.uid, password)
  return new JsonResponse(answer, { ...headers, Location: `/api/v1/warehouse-readers/${row.uid}` })
}

/**
 * Updates a warehouse reader and applies the change to the warehouse immediately. If the warehouse fails, the change
 * stays stored, and a worker applies it later.
 */
export async function updateReader(input: ReaderRequest<'/warehouse-readers/:uid', WarehouseReaderBody>) {
  const { body, caller, params, request, write, db } = input
  await warehouseReaderWriting.check(body, input)
  const row = await write(async (trx) => {
    const before = await warehouseReaderRecords.lock(trx, caller, params.uid, request.ifMatch)
    const columns = await warehouseReaderWriting.columns(trx, body, before, input)
    const after = await warehouseReaderRecords.update(trx, caller, before, columns)
    request.audit(after.uid, { before: redactSecrets(before), after: redactSecrets(after) })
    return after
  })
  await applyReader(input, row).catch((error: unknown) =>
    input.logger.warn({ err: error, login: row.login }, 'a warehouse reader could not be changed yet'),
  )
  return warehouseReaderRecords.answer(await warehouseReaderRecords.read(db, caller, row.uid), input)
}

/**
 * Changes the password of a reader's login. The caller must be allowed to see all its schemas, because the password
 * gives access to them.
 */
export async function rotateReader(
  input: ReaderRequest<'/warehouse-readers/:uid/rotate'>,
): Promise<JsonResponse<NewWarehouseReader>> {
  const { caller, params, write, request } = input
  assertMayReadAllRows(caller)
  const row = await write(async (trx) => {
    const before = await warehouseReaderRecords.lock(trx, caller, params.uid, undefined)
    // Throws 422 if this installation no longer allows logins there.
    getEndpoint(input.readers, before.provider_schema as WarehouseKind)
    await assertSeesSchemas(trx, before, caller)
    const after = await warehouseReaderRecords.update(trx, caller, before, { pending: true })
    request.audit(after.uid, { rotated: true })
    return after
  })
  const password = newReaderPassword()
  await applyReader(input, row, password)
  return answerWithPassword(input, row.uid, password)
}

/** Throws 403 if the caller may not see all schemas of a reader. */
async function assertSeesSchemas(trx: Transaction<DB>, { schema_ids }: WarehouseReaderRow, caller: Caller) {
  const visible = await trx
    .selectFrom('schemas as r')
    .select('r.id')
    .where('r.id', 'in', schema_ids)
    .where(visibleTo(caller, 'READ'))
    .execute()
  if (visible.length < schema_ids.length)
    throw problems.forbidden(
      'This warehouse reader gives access to schemas that are not shared with you. Ask the owner of these schemas to rotate its password.',
    )
}

/**
 * Applies a reader to the warehouse, in a slot: each call holds two connections of the service's database while the
 * warehouse changes the login.
 */
const applyReader = ({ readers }: PipelineContext, row: WarehouseReaderRow, password?: string): Promise<void> =>
  requestSlots.readers.run(row.client, async () => {
    await readers.applyNetworks()
    await readers.apply(row.id, password)
  })

/** Returns the response for a reader with its new password, which no later response contains. */
async function answerWithPassword(
  input: RequestContext,
  uid: string,
  password: string,
): Promise<JsonResponse<NewWarehouseReader>> {
  const row = await warehouseReaderRecords.read(input.db, input.caller, uid)
  const { connectionStrings } = getEndpoint(input.readers, row.provider_schema as WarehouseKind)
  const { body: reader, headers } = await warehouseReaderRecords.answer(row, input)
  const connection = reader.connection as Parameters<typeof connectionStrings>[0]
  const strings = connectionStrings(
    connection,
    password,
    reader.schemas.map(({ schemaName }) => schemaName),
  )
  return new JsonResponse({ ...reader, password, connectionStrings: strings }, headers)
}
