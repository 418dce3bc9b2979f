import { type Kysely, type RawBuilder, sql } from 'kysely'
import { JsonResponse, type Caller, etagOf, problems } from '@sluice/http-server'
import { recordLister } from './list-records.ts'
import { findPermittedActions } from './record-permissions.ts'
import type { RecordDefinition } from './record-definition.ts'
import { isUid } from './search/parse-filter-values.ts'

/** The number of rows per INSERT, so that the parameters stay well below the protocol's limit. */
const insertBatchSize = 250

interface VersionedRow {
  uid: string
  version: number
}

interface RecordContext {
  caller: Caller
  db: Kysely<any>
}

/** Returns the SQL statements that all kinds of records share. Every read and lock applies the caller's scope. */
export function createRecordRepository<Row extends VersionedRow, Resource, Context extends RecordContext>(
  definition: RecordDefinition<Row, Resource, Context>,
) {
  const from = sql`${sql.table(definition.table)} as r`

  /** Returns the row. Throws 404 if it does not exist or the caller may not see it. */
  async function read(db: Kysely<any>, caller: Caller, uid: string): Promise<Row> {
    const row = isUid(uid) ? await findRow(db, caller, uid, sql``) : undefined
    if (!row) throw problems.notFound(definition.noun)
    return row
  }

  /**
   * Returns the row, locked until the transaction ends. Throws 404, 403 for a row that the caller may only read, and
   * 412 for an outdated If-Match.
   */
  function lock(trx: Kysely<any>, caller: Caller, uid: string, ifMatch: number | undefined): Promise<Row> {
    return readWritable(trx, caller, uid, { ifMatch, locking: sql`for update of r` })
  }

  /** Performs the checks of `lock` without locking, for early rejection. */
  function readToWrite(db: Kysely<any>, caller: Caller, uid: string, ifMatch: number | undefined): Promise<Row> {
    return readWritable(db, caller, uid, { ifMatch, locking: sql`` })
  }

  /**
   * Returns the rows that the caller may write, by uid, and locks them. Locks in the order of ids, which prevents
   * deadlocks.
   */
  async function lockAll(trx: Kysely<any>, caller: Caller, uids: readonly string[]): Promise<Map<string, Row>> {
    const { rows } = await sql<Row>`
      select r.* from ${from} where r.uid = any(${uids.filter(isUid)}::uuid[]) and ${definition.scope(caller, 'READ')}
        and ${definition.scope(caller, 'READ_WRITE')} order by r.id for update of r`.execute(trx)
    return new Map(rows.map((row) => [row.uid, row]))
  }

  /** Returns the row. Throws 404, 403 for a row that the caller may only read, and 412 for an outdated If-Match. */
  async function readWritable(
    db: Kysely<any>,
    caller: Caller,
    uid: string,
    { ifMatch, locking }: { ifMatch: number | undefined; locking: RawBuilder<unknown> },
  ): Promise<Row> {
    const row = isUid(uid) ? await findRow(db, caller, uid, locking) : undefined
    if (!row) throw problems.notFound(definition.noun)
    if (!row.writable) throw problems.forbidden(`This ${definition.noun} is shared with you for reading only.`)
    if (ifMatch !== undefined && ifMatch !== row.version) throw problems.stale()
    return row
  }

  /** Returns the row with the caller's right to write it, or undefined if the caller may not see it. */
  async function findRow(
    db: Kysely<any>,
    caller: Caller,
    uid: string,
    locking: RawBuilder<unknown>,
  ): Promise<(Row & { writable: boolean }) | undefined> {
    const { rows } = await sql<Row & { writable: boolean }>`
      select r.*, ${definition.scope(caller, 'READ_WRITE')} as writable from ${from}
      where r.uid = ${uid} and ${definition.scope(caller, 'READ')} ${locking}`.execute(db)
    return rows[0]
  }

  async function insert(trx: Kysely<any>, caller: Caller, columns: object): Promise<Row> {
    const values = { ...columns, created_by: caller.uid, updated_by: caller.uid }
    return (await trx.insertInto(definition.table).values(values).returningAll().executeTakeFirstOrThrow()) as Row
  }

  /** Inserts many rows in batches and returns them in their order. All rows must have the same columns. */
  async function insertAll(trx: Kysely<any>, caller: Caller, many: readonly object[]): Promise<Row[]> {
    const rows: Row[] = []
    for (let position = 0; position < many.length; position += insertBatchSize) {
      const values = many
        .slice(position, position + insertBatchSize)
        .map((columns) => ({ ...columns, created_by: caller.uid, updated_by: caller.uid }))
      rows.push(...((await trx.insertInto(definition.table).values(values).returningAll().execute()) as Row[]))
    }
    return rows
  }

  /** Updates columns of a locked row and increments its version. */
  async function update(trx: Kysely<any>, caller: Caller, row: Row, columns: object): Promise<Row> {
    const values = { ...columns, version: sql`version + 1`, updated_at: sql`now()`, updated_by: caller.uid }
    return (await trx
      .updateTable(definition.table)
      .set(values)
      .where('uid', '=', row.uid)
      .returningAll()
      .executeTakeFirstOrThrow()) as Row
  }

  async function remove(trx: Kysely<any>, row: Row): Promise<void> {
    await trx.deleteFrom(definition.table).where('uid', '=', row.uid).execute()
  }

  /** Converts rows to resources in the same order, and adds the actions that the caller may perform on each. */
  async function present(rows: Row[], context: Context): Promise<Resource[]> {
    const { signatures } = definition
    if (!signatures) return (await definition.present(rows, context)) as Resource[]
    const uids = rows.map(({ uid }) => uid)
    const [resources, actionsOf] = await Promise.all([
      definition.present(rows, context),
      findPermittedActions({ ...definition, signatures }, uids, context),
    ])
    return resources.map((resource, index) => ({ ...resource, may: actionsOf(uids[index]!) })) as Resource[]
  }

  /** Returns the response for one row, with its ETag header. */
  async function response(row: Row, context: Context): Promise<JsonResponse<Resource>> {
    const [resource] = await present([row], context)
    return new JsonResponse(resource!, { ETag: etagOf(row.version) })
  }

  /** Returns the response for a new row, with its Location header. */
  async function created(row: Row, context: Context): Promise<JsonResponse<Resource>> {
    const { body, headers } = await response(row, context)
    return new JsonResponse(body, { ...headers, Location: `/api/v1${definition.path}/${row.uid}` })
  }

  return {
    definition,
    present,
    search: recordLister(definition, present),
    read,
    readToWrite,
    lock,
    lockAll,
    insert,
    insertAll,
    update,
    remove,
    answer: response,
    created,
  }
}

export type Records<Row extends VersionedRow, Resource, Context extends RecordContext> = ReturnType<
  typeof createRecordRepository<Row, Resource, Context>
>
