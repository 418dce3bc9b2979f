import { type DataQuery, type QueryResult, type Table, pipelineOperations, toSearchRequest } from '@sluice/contracts'
import { createSharingOperations } from '@sluice/records'
import type { FileDownload, OperationInput } from '@sluice/http-server'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { runOperations } from '../runs/operations.ts'
import { assertSharingTargets } from '../object-access.ts'
import { saveManyOperation } from '../bulk-saves/save-by-name.ts'
import { createView, deleteView, findViewPlace, updateView, viewBulkSave } from './write.ts'
import { previewView } from './preview.ts'
import { type ViewRow, viewRecords } from './records.ts'
import { readTableLabels, presentTable } from '../table-responses.ts'
import { notLoadedYet, answerRows } from '../read-table-page.ts'

const { views: signatures } = pipelineOperations

type ViewTableRequest<Query> = OperationInput<PipelineContext, '/views/:uid/table', Query, undefined>

async function readViewTable(input: ViewTableRequest<undefined>): Promise<Table> {
  const { row, view } = await readBuiltView(input)
  return presentTable(view, await readTableLabels(input.db, row, view))
}

/** Reads a page of rows in the order of the view's query, or exports all rows as a file. */
const readViewData = (input: ViewTableRequest<DataQuery>): Promise<QueryResult | FileDownload> =>
  answerRows(signatures.data.id, input, async () => {
    const { row, view, warehouse } = await readBuiltView(input)
    if (!view.populated) throw notLoadedYet('The view has no rows yet. Run the view to fill it.')
    return { warehouse, table: view, labels: await readTableLabels(input.db, row, view), object: row.uid }
  })

async function readBuiltView({ db, caller, params, warehouses }: ViewTableRequest<unknown>) {
  const row = await viewRecords.read(db, caller, params.uid)
  const builtView = await findBuiltView({ db, warehouses }, row)
  if (!builtView && row.pending !== null)
    throw notLoadedYet(`The view does not exist in the warehouse yet. ${row.pending}`)
  if (!builtView)
    throw notLoadedYet('The view does not exist in the warehouse any more. Run the view to create it again.')
  return { row, ...builtView }
}

/** Finds a view in the warehouse. Returns undefined if it is missing or another object has its name. */
export async function findBuiltView({ db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>, row: ViewRow) {
  const { schema_name } = await db
    .selectFrom('schemas')
    .select('schema_name')
    .where('id', '=', row.schema_id)
    .executeTakeFirstOrThrow()
  const warehouse = await warehouses.find(row.client)
  const view = await warehouse?.views.find(schema_name, row.view_name)
  return warehouse && view?.managed?.id === row.uid ? { warehouse, view } : undefined
}

/** Lists the views that users created in the warehouse on top of this view. */
async function listExternalReaders(
  { db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>,
  row: ViewRow,
): Promise<string[]> {
  const { schema, name } = await findViewPlace(db, row)
  const warehouse = await warehouses.find(row.client)
  return (await warehouse?.views.listUnmanagedReaders(schema, name)) ?? []
}

export const viewOperations = {
  // Must precede `/views/:uid`, which would match these paths too.
  saveMany: saveManyOperation(signatures.saveMany, viewBulkSave),
  preview: definePipelineOperation(signatures.preview, previewView),
  list: definePipelineOperation(signatures.list, (input) =>
    viewRecords.search(input.db, input, toSearchRequest(input.query), input.request.url),
  ),
  search: definePipelineOperation(signatures.search, (input) => viewRecords.search(input.db, input, input.body)),
  create: definePipelineOperation(signatures.create, createView),
  read: definePipelineOperation(signatures.read, async (input) =>
    viewRecords.answer(await viewRecords.read(input.db, input.caller, input.params.uid), input),
  ),
  update: definePipelineOperation(signatures.update, updateView),
  delete: definePipelineOperation(signatures.delete, deleteView),
  ...createSharingOperations(
    signatures,
    { operation: definePipelineOperation, records: viewRecords },
    assertSharingTargets,
  ),
  ...createLineageOperation(signatures, {
    kind: 'VIEW',
    records: viewRecords,
    listExternalReaders,
  }),
  ...runOperations(signatures, { kind: 'VIEW', records: viewRecords }),
  table: definePipelineOperation(signatures.table, readViewTable),
  data: definePipelineOperation(signatures.data, readViewData),
}
