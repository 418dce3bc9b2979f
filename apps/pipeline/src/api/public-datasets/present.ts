import type { PublicDataset, PublicDatasetStatus } from '@sluice/contracts'
import type { Asked } from '../operation.ts'
import { type LastRuns, runStatusesOf } from '../runs/run-status.ts'
import type { PublicDatasetRow } from './row.ts'

/** Without their tables: the warehouse is asked for those one at a time. */
export async function presentPublicDatasets(rows: PublicDatasetRow[], { db, caller }: Asked): Promise<PublicDataset[]> {
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
    status: presentStatus(statusOf(row.pipeline_id), row.client === caller.client),
  }))
}

function presentStatus({ status, last }: LastRuns, isOwn: boolean): PublicDatasetStatus {
  if (!isOwn || !last) return status
  return { ...status, message: last.message ?? undefined, rowsRejected: last.rows_rejected }
}
