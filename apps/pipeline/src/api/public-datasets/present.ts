import type { PublicDataset } from '@sluice/contracts'
import { Answer } from '@sluice/http'
import { catalogueClient, catalogueSchema } from '../../catalogue-client.ts'
import { presentTable } from '../catalogue/present-table.ts'
import type { Asked, PipelineContext } from '../operation.ts'
import { runStatusesOf } from '../runs/run-status.ts'
import { publicDatasets, type PublicDatasetRow } from './records.ts'

/** Without their tables: the warehouse is asked for those one at a time. */
export async function presentPublicDatasets(rows: PublicDatasetRow[], { db }: Asked): Promise<PublicDataset[]> {
  const statusOf = await runStatusesOf(
    db,
    rows.map(({ pipeline_id: id }) => ({ id })),
  )
  return rows.map((row) => ({
    key: row.key,
    name: row.name,
    description: row.description ?? undefined,
    owner: row.owner ?? undefined,
    reference: row.reference ?? undefined,
    source: row.source ?? undefined,
    termsOfUse: row.terms_of_use ?? undefined,
    tags: row.tags,
    tagString: row.tags.join(', '),
    headerRow: row.header_row,
    lastUpdated: row.updated_at.toISOString(),
    status: statusOf(row.pipeline_id).status,
  }))
}

/** One of them whole, with its version. */
export async function answerDataset(row: PublicDatasetRow, context: Asked): Promise<Answer<PublicDataset>> {
  const { body, headers } = await publicDatasets.answer(row, context)
  const found = await findTable(context, row)
  const table = found && presentTable(found.table, shownAs(row))
  return new Answer({ ...body, ...(table && { table }) }, headers)
}

/** What was loaded of it; undefined while nothing was. */
export async function findTable({ warehouses }: Pick<PipelineContext, 'warehouses'>, { key }: { key: string }) {
  const warehouse = await warehouses.find(catalogueClient)
  const table = await warehouse?.findTable(catalogueSchema, key)
  return warehouse && table && { warehouse, table }
}

export const shownAs = ({ name, description }: PublicDatasetRow) => ({
  displayName: name,
  description: description ?? undefined,
})
