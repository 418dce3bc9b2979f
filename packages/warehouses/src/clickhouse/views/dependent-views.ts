import { randomUUID } from 'node:crypto'
import { type TableChange, WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { ClickHouseError, executeStatement, rowsOf } from '../protocol/http.ts'
import type { ProposedTable } from '../ledger.ts'
import { databaseOf, qualifyName, runDatabase, runPrefix } from '../names.ts'
import { listPlainReaders, replaceView } from './replace-view.ts'
import { errorCodes, isCode } from '../problems.ts'
import { markIn, readShape, type ViewMark } from '../table-shape.ts'

/** The time limit in seconds for creating a view without rows. */
const viewTimeoutSeconds = 60

/** Returns whether the dependents of the table must change with it. */
export const affectsViews = (changes: readonly TableChange[]): boolean =>
  changes.some(({ kind }) => kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED' || kind === 'COLUMN_DROPPED')

/**
 * Moves the views over a table whose types will widen into the database of the run. Until `recreateViews` runs, the views do not
 * exist: an old view would truncate the wider values. Recovery of the publication finds the views there.
 */
export async function retireViews(access: ClientAccess, { schema, table, run, attempt }: ProposedTable): Promise<void> {
  const aside = runDatabase(access.key, { run, attempt })
  for (const { at } of await allAbove(access, { schema, name: table })) {
    const place = qualifyName(databaseOf({ key: access.key, schema: at[0] }), at[1])
    const hidden = qualifyName(aside, `aside_${randomUUID()}`)
    await executeStatement(access.service, `rename table ${place} to ${hidden}`).catch((error: unknown) => {
      if (!isCode(error, errorCodes.unknownTable)) throw error
    })
  }
}

/** Returns the views that read the table, directly or indirectly: dependents before dependencies. */
async function allAbove(access: ClientAccess, place: { schema: string; name: string }): Promise<ViewMark[]> {
  const found = new Map<string, ViewMark>()
  const visit = async (below: { schema: string; name: string }) => {
    for (const view of await listPlainReaders(access, below)) {
      const key = JSON.stringify(view.at)
      if (found.has(key)) continue
      await visit({ schema: view.at[0], name: view.at[1] })
      found.set(key, view)
    }
  }
  await visit(place)
  return [...found.values()]
}

interface RetiredView {
  name: string
  comment: string
}

/**
 * Recreates the views at their places, dependencies first. A view that cannot be created keeps its old definition and fails when
 * a query reads it.
 */
export async function recreateViews(access: ClientAccess, of: { run: string; attempt: number }): Promise<void> {
  const database = runDatabase(access.key, of)
  for (let left = await listRetiredViews(access, database); left.length > 0; ) {
    const pending = new Set(left.map(({ mark }) => JSON.stringify(mark.at)))
    const ready = left.filter(({ mark }) => mark.reads.every((read) => !pending.has(JSON.stringify(read))))
    for (const { name, mark } of ready.length > 0 ? ready : left)
      await recreateView(access, qualifyName(database, name), mark)
    const after = await listRetiredViews(access, database)
    if (after.length >= left.length) return
    left = after
  }
}

/** Recreates a view from its mark and drops its hidden copy. If it cannot be created, the copy returns to its place. */
async function recreateView(access: ClientAccess, hidden: string, mark: ViewMark): Promise<void> {
  try {
    await replaceView(access, mark, { seconds: viewTimeoutSeconds }, AbortSignal.timeout(viewTimeoutSeconds * 2_000))
    await executeStatement(access.service, `drop table if exists ${hidden}`)
  } catch (error) {
    const senseless = error instanceof ClickHouseError || (error instanceof WarehouseProblem && !error.retryable)
    if (!senseless) throw error
    const [schema, name] = mark.at
    const database = databaseOf({ key: access.key, schema })
    if (!(await readShape(access.service, database, name)))
      await executeStatement(access.service, `rename table ${hidden} to ${qualifyName(database, name)}`)
  }
}

async function listRetiredViews(access: ClientAccess, database: string): Promise<{ name: string; mark: ViewMark }[]> {
  const rows = await rowsOf<RetiredView>(
    access.service,
    `select name, comment from system.tables
     where database = {database:String} and startsWith(database, {prefix:String}) and startsWith(name, 'aside_')`,
    { parameters: { database, prefix: runPrefix(access.key) } },
  )
  return rows.flatMap(({ name, comment }) => {
    const mark = markIn(comment)?.view
    return mark ? [{ name, mark }] : []
  })
}
