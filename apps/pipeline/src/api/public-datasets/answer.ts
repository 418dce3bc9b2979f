import type { PublicDataset } from '@sluice/contracts'
import { Answer } from '@sluice/http'
import { catalogueClient, catalogueSchema } from '../../catalogue-client.ts'
import { presentTable } from '../catalogue/present-table.ts'
import type { Asked, PipelineContext } from '../operation.ts'
import { publicDatasets } from './records.ts'
import type { PublicDatasetRow } from './row.ts'

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
