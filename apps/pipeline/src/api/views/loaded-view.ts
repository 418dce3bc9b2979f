import type { DataQuery, QueryResult, Table } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import { presentTable, type Shown } from '../catalogue/present-table.ts'
import { readPage } from '../catalogue/read-page.ts'
import type { PipelineContext } from '../operation.ts'
import { views } from './records.ts'
import type { ViewRow } from './row.ts'

type Asking<Query> = Input<PipelineContext, '/views/:uid/table', Query, undefined>

export async function readViewTable(input: Asking<undefined>): Promise<Table> {
  const { row, view } = await madeView(input)
  return presentTable(view, shownAs(row))
}

/** A page of its rows, in the order in which the query gives them. */
export const readViewData = (input: Asking<DataQuery>): Promise<QueryResult> =>
  readPage(input, async () => {
    const { row, view, warehouse } = await madeView(input)
    if (!view.populated) throw problems.notFound('rows yet: the view is filled by its first run')
    return { warehouse, table: view, shown: shownAs(row) }
  })

export const shownAs = ({ name, description }: ViewRow): Shown => ({
  displayName: name,
  description: description ?? undefined,
})

async function madeView({ db, caller, params, warehouses }: Asking<unknown>) {
  const row = await views.read(db, caller, params.uid)
  const found = await findMade({ db, warehouses }, row)
  if (!found && row.pending !== null) throw problems.notFound(`view in the warehouse yet. ${row.pending}`)
  if (!found) throw problems.notFound('view in the warehouse now: run it, and it is made again')
  return { row, ...found }
}

/** What a view is in the warehouse; undefined where it was lost there, or something else has its name. */
export async function findMade({ db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>, row: ViewRow) {
  const { schema_name } = await db
    .selectFrom('schemas')
    .select('schema_name')
    .where('id', '=', row.schema_id)
    .executeTakeFirstOrThrow()
  const warehouse = await warehouses.find(row.client)
  const view = await warehouse?.findView(schema_name, row.view_name)
  return warehouse && view?.managed?.id === row.uid ? { warehouse, view } : undefined
}
