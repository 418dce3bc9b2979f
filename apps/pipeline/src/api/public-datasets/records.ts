import { ServiceUnavailable } from '@sluice/client'
import { type Kysely, type Selectable, sql } from 'kysely'
import { type PublicDataset, type PublicDatasetStatus, hasRole, pipelineOperations } from '@sluice/contracts'
import { JsonResponse, problems } from '@sluice/http-server'
import { type RecordDefinition, type RefinedRow, type WithoutMay, createRecordRepository } from '@sluice/records'
import type { DB, PublicDatasets } from '../../database.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { recordedProperties, tagsColumn } from '../record-fields.ts'
import { type ObjectRunStatus, readRunStatuses } from '../runs/run-responses.ts'
import { listRejectedRows } from '../../runs/read-runs.ts'
import { catalogueClient, catalogueSchema } from '../../warehouses/public-dataset-owner.ts'
import { readTableLabels, presentTable } from '../table-responses.ts'
import { presentRejectedRow } from '../runs/rejected-rows-operation.ts'

export type PublicDatasetRow = RefinedRow<Selectable<PublicDatasets>, { tags: string[] }>

/** Presents datasets. Omits their tables, because each would need a warehouse query. */
async function presentPublicDatasets(
  rows: PublicDatasetRow[],
  { db, caller }: RequestContext,
): Promise<WithoutMay<PublicDataset>[]> {
  const findStatus = await readRunStatuses(
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
    status: presentStatus(findStatus(row.pipeline_id), row.client === caller.client),
  }))
}

/**
 * Returns the status of a dataset. Only the publishing organisation sees the message and the number of rejected rows.
 */
function presentStatus({ status, lastRun }: ObjectRunStatus, isPublisher: boolean): PublicDatasetStatus {
  if (!isPublisher || !lastRun) return status
  return { ...status, message: lastRun.message ?? undefined, rowsRejected: lastRun.rows_rejected }
}

/**
 * Returns whether the caller may publish datasets: a super admin, or a user of an organisation that has the domain
 * PUBLIC_DATASET_CATALOG or has published before. A role is not enough, because a dataset reaches every organisation.
 */
export async function mayPublish({
  db,
  caller,
  identity,
}: Pick<RequestContext, 'db' | 'caller' | 'identity'>): Promise<boolean> {
  if (hasRole(caller.roles, 'ROLE_SUPER_ADMIN')) return true
  if ((await identity.client(caller.client))?.domain === 'PUBLIC_DATASET_CATALOG') return true
  const publisher = await db
    .selectFrom('dataset_publishers')
    .select('client')
    .where('client', '=', caller.client)
    .executeTakeFirst()
  return publisher !== undefined
}

function falseIfUnavailable(error: unknown): boolean {
  if (error instanceof ServiceUnavailable) return false
  throw error
}

/** Public datasets: all users can read all of them; only the organisation that published a dataset can change it. */
const datasetRecordDefinition: RecordDefinition<PublicDatasetRow, PublicDataset, RequestContext> = {
  noun: 'public dataset',
  table: 'public_datasets',
  path: '/public-datasets',
  properties: {
    ...recordedProperties,
    key: { type: 'string', column: 'r.key' },
    description: { type: 'string', column: 'r.description' },
    owner: { type: 'string', column: 'r.owner' },
    tags: { type: 'strings', column: tagsColumn },
  },
  matches: (like) => sql`(r.key ilike ${like} or r.name ilike ${like} or r.description ilike ${like})`,
  scope: (caller, level) => (level === 'READ' ? sql`true` : sql`r.client = ${caller.client}`),
  signatures: pipelineOperations.publicDatasets,
  // While the identity service is unavailable, datasets can be read but not changed.
  mayWrite: (context) => mayPublish(context).catch(falseIfUnavailable),
  present: presentPublicDatasets,
}

export const publicDatasets = createRecordRepository(datasetRecordDefinition)

/** Returns the uid of the dataset with this key. Throws 404 if it does not exist. */
export async function readDatasetUid(db: Kysely<DB>, key: string): Promise<string> {
  // PostgreSQL rejects text that contains a NUL character.
  if (key.includes('\0')) throw problems.notFound('public dataset')
  const row = await db.selectFrom('public_datasets').select('uid').where('key', '=', key).executeTakeFirst()
  if (!row) throw problems.notFound('public dataset')
  return row.uid
}

/** Returns the response for one dataset, which unlike lists has its table and its rejected rows. */
export async function answerDataset(
  row: PublicDatasetRow,
  context: RequestContext,
): Promise<JsonResponse<PublicDataset>> {
  const { body, headers } = await publicDatasets.answer(row, context)
  const status = await addRejectedRows(body.status, row, context)
  const datasetTable = await findDatasetTable(context, row)
  if (!datasetTable) return new JsonResponse({ ...body, status }, headers)
  const labels = await readTableLabels(context.db, { ...row, client: catalogueClient }, datasetTable.table)
  return new JsonResponse({ ...body, status, table: presentTable(datasetTable.table, labels) }, headers)
}

const maxRejectedRows = 20

/** Adds the first rejected rows of the last load, if the caller may see how many there are. */
async function addRejectedRows(
  status: PublicDataset['status'],
  row: PublicDatasetRow,
  { db }: RequestContext,
): Promise<PublicDataset['status']> {
  if (!status.rowsRejected || !status.jobId) return status
  const rejectedRows = await listRejectedRows(db, row.pipeline_id, status.jobId, { page: 1, pageSize: maxRejectedRows })
  return { ...status, rejectedRows: rejectedRows?.rows.map(presentRejectedRow) }
}

/** Finds the loaded table of a dataset. Returns undefined before the first load. */
export async function findDatasetTable({ warehouses }: Pick<PipelineContext, 'warehouses'>, { key }: { key: string }) {
  const warehouse = await warehouses.find(catalogueClient)
  const table = await warehouse?.catalog.findTable(catalogueSchema, key)
  return warehouse && table && { warehouse, table }
}
