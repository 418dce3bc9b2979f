import type { PublicDataset } from '@sluice/contracts'
import { Answer } from '@sluice/http'
import { listRejectedRows } from '../../engine/runs/read-runs.ts'
import { catalogueClient, catalogueSchema } from '../../catalogue-client.ts'
import { presentTable } from '../catalogue/present-table.ts'
import type { RequestContext, PipelineContext } from '../operation.ts'
import { presentRejectedRow } from '../runs/rejected-rows.ts'
import { publicDatasets } from './records.ts'
import type { PublicDatasetRow } from './records.ts'

/** Answers a dataset with its table, its rejected rows and its version. */
export async function answerDataset(row: PublicDatasetRow, context: RequestContext): Promise<Answer<PublicDataset>> {
  const { body, headers } = await publicDatasets.answer(row, context)
  const found = await findTable(context, row)
  const table = found && presentTable(found.table, shownAs(row))
  const status = await withRejectedRows(body.status, row, context)
  return new Answer({ ...body, status, ...(table && { table }) }, headers)
}

const mostRejectedRows = 20

/** Adds the first rejected rows of the last load if the caller may see their number. */
async function withRejectedRows(
  status: PublicDataset['status'],
  row: PublicDatasetRow,
  { db }: RequestContext,
): Promise<PublicDataset['status']> {
  if (!status.rowsRejected || !status.jobId) return status
  const found = await listRejectedRows(db, row.pipeline_id, status.jobId, { page: 1, pageSize: mostRejectedRows })
  return { ...status, rejectedRows: found?.rows.map(presentRejectedRow) }
}

/** The loaded table of a dataset; undefined before its first load. */
export async function findTable({ warehouses }: Pick<PipelineContext, 'warehouses'>, { key }: { key: string }) {
  const warehouse = await warehouses.find(catalogueClient)
  const table = await warehouse?.findTable(catalogueSchema, key)
  return warehouse && table && { warehouse, table }
}

export const shownAs = ({ name, description }: PublicDatasetRow) => ({
  displayName: name,
  description: description ?? undefined,
})
