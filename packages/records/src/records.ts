import { type Kysely, type RawBuilder, sql } from 'kysely'
import { Answer, type Caller, etagOf, problems } from '@sluice/http'
import { recordLister } from './list-records.ts'
import type { RecordKind } from './record-kind.ts'

/** Rows that go in one statement: far below what the protocol numbers its parameters by. */
const insertBatchSize = 250

interface VersionedRow {
  uid: string
  version: number
}

/** The statements that all records share. Every one carries the caller's scope. */
export function records<Row extends VersionedRow, Resource, Context extends { caller: Caller }>(
  kind: RecordKind<Row, Resource, Context>,
) {
  const from = sql`${sql.table(kind.table)} as r`

  /** The row, or 404 when the caller may not know of it. */
  async function read(db: Kysely<any>, caller: Caller, uid: string): Promise<Row> {
    const row = isUid(uid) ? await findRow(db, caller, uid, sql``) : undefined
    if (!row) throw problems.notFound(kind.noun)
    return row
  }

  /** The row, locked until the transaction ends: 404 as above, 403 for one that may only be read, 412 for a stale If-Match. */
  function lock(trx: Kysely<any>, caller: Caller, uid: string, ifMatch: number | undefined): Promise<Row> {
    return readWritable(trx, caller, uid, { ifMatch, locking: sql`for update of r` })
  }

  /** The same without a lock, for what has to be refused long before it is written. */
  function readToWrite(db: Kysely<any>, caller: Caller, uid: string, ifMatch: number | undefined): Promise<Row> {
    return readWritable(db, caller, uid, { ifMatch, locking: sql`` })
  }

  /**
   * Those of many that the caller may write, locked, by uid. Who asks for two at once gets them in one order, and waits for
   * nobody in a circle.
   */
  async function lockAll(trx: Kysely<any>, caller: Caller, uids: readonly string[]): Promise<Map<string, Row>> {
    const { rows } = await sql<Row>`
      select r.* from ${from} where r.uid = any(${uids.filter(isUid)}::uuid[]) and ${kind.scope(caller, 'READ')}
        and ${kind.scope(caller, 'READ_WRITE')} order by r.id for update of r`.execute(trx)
    return new Map(rows.map((row) => [row.uid, row]))
  }

  async function readWritable(
    db: Kysely<any>,
    caller: Caller,
    uid: string,
    { ifMatch, locking }: { ifMatch: number | undefined; locking: RawBuilder<unknown> },
  ): Promise<Row> {
    const row = isUid(uid) ? await findRow(db, caller, uid, locking) : undefined
    if (!row) throw problems.notFound(kind.noun)
    if (!row.writable) throw problems.forbidden(`This ${kind.noun} is shared with you for reading only.`)
    if (ifMatch !== undefined && ifMatch !== row.version) throw problems.stale()
    return row
  }

  async function findRow(
    db: Kysely<any>,
    caller: Caller,
    uid: string,
    locking: RawBuilder<unknown>,
  ): Promise<(Row & { writable: boolean }) | undefined> {
    const { rows } = await sql<Row & { writable: boolean }>`
      select r.*, ${kind.scope(caller, 'READ_WRITE')} as writable from ${from}
      where r.uid = ${uid} and ${kind.scope(caller, 'READ')} ${locking}`.execute(db)
    return rows[0]
  }

  async function insert(trx: Kysely<any>, caller: Caller, columns: object): Promise<Row> {
    const values = { ...columns, created_by: caller.uid, updated_by: caller.uid }
    return (await trx.insertInto(kind.table).values(values).returningAll().executeTakeFirstOrThrow()) as Row
  }

  /** The same for many, in their order, by as few statements as may be. Each has the same columns. */
  async function insertAll(trx: Kysely<any>, caller: Caller, many: readonly object[]): Promise<Row[]> {
    const rows: Row[] = []
    for (let at = 0; at < many.length; at += insertBatchSize) {
      const values = many
        .slice(at, at + insertBatchSize)
        .map((columns) => ({ ...columns, created_by: caller.uid, updated_by: caller.uid }))
      rows.push(...((await trx.insertInto(kind.table).values(values).returningAll().execute()) as Row[]))
    }
    return rows
  }

  /** Writes columns of a row that `lock` answered, and counts its version up. */
  async function update(trx: Kysely<any>, caller: Caller, row: Row, columns: object): Promise<Row> {
    const values = { ...columns, version: sql`version + 1`, updated_at: sql`now()`, updated_by: caller.uid }
    return (await trx
      .updateTable(kind.table)
      .set(values)
      .where('uid', '=', row.uid)
      .returningAll()
      .executeTakeFirstOrThrow()) as Row
  }

  async function remove(trx: Kysely<any>, row: Row): Promise<void> {
    await trx.deleteFrom(kind.table).where('uid', '=', row.uid).execute()
  }

  /** One row as an answer, with the ETag that If-Match takes. */
  async function answer(row: Row, context: Context): Promise<Answer<Resource>> {
    const [resource] = await kind.present([row], context)
    return new Answer(resource!, { ETag: etagOf(row.version) })
  }

  /** The same for a row that was just made. */
  async function created(row: Row, context: Context): Promise<Answer<Resource>> {
    const { body, headers } = await answer(row, context)
    return new Answer(body, { ...headers, Location: `/api/v1${kind.path}/${row.uid}` })
  }

  return {
    kind,
    search: recordLister(kind),
    read,
    readToWrite,
    lock,
    lockAll,
    insert,
    insertAll,
    update,
    remove,
    answer,
    created,
  }
}

export type Records<Row extends VersionedRow, Resource, Context extends { caller: Caller }> = ReturnType<
  typeof records<Row, Resource, Context>
>

const pattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Can this be the identifier of anything? PostgreSQL fails a query that compares a uuid with other text. */
export const isUid = (text: string): boolean => pattern.test(text)
