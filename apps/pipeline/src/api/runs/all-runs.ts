import { type ObjectRun, type RunListQuery, pipelineOperations } from '@sluice/contracts'
import { JsonResponse, type OperationInput } from '@sluice/http-server'
import { buildPageHeaders, readCursor, serializeCursor } from '@sluice/records'
import { type RunOfObject, type RunPosition, listRunsOfObjects } from './runs-of-objects.ts'
import { selectVisibleRunnables } from '../objects/shareable-object-kinds.ts'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'
import { lookUpUsernames } from '../record-fields.ts'
import { followRuns } from './follow-runs.ts'
import { presentObjectRun } from './run-responses.ts'

const defaultPageSize = 50

/** Lists the runs of all objects that the caller may see, newest first. */
async function listAllRuns(
  input: OperationInput<PipelineContext, '/runs', RunListQuery, undefined>,
): Promise<JsonResponse<ObjectRun[]>> {
  const { db, caller, query, request, identity } = input
  const { pageSize = defaultPageSize, after, since, ...filter } = query
  const listId = JSON.stringify(['/runs', since, filter])
  const { page, position } = readRunCursor(listId, after)
  const matchingRuns = await listRunsOfObjects(
    db,
    { ...filter, client: caller.client, objects: selectVisibleRunnables(caller, filter) },
    { since: since === undefined ? undefined : new Date(since), after: position, limit: pageSize + 1 },
  )
  const runs = matchingRuns.slice(0, pageSize)
  const findUsername = await lookUpUsernames(
    runs.map((run) => run.created_by),
    identity,
  )
  const lastRun = runs.at(-1)
  const cursor = lastRun && serializeRunCursor(listId, page + 1, lastRun)
  const headers = buildPageHeaders(
    { page, pageSize, more: matchingRuns.length > pageSize, cursor, onlyCursors: true },
    request.url,
  )
  return new JsonResponse(
    runs.map((run) => presentObjectRun(run, findUsername(run.created_by))),
    headers,
  )
}

/** Parses the cursor of a page: its number, and the position of the last run of the previous page. */
function readRunCursor(listId: string, text: string | undefined): { page: number; position?: RunPosition } {
  const cursor = readCursor(listId, text, [/^\d{1,13}$/, /^\d{1,15}$/])
  if (!cursor) return { page: 1 }
  const [createdMs, id] = cursor.keys
  return { page: cursor.page, position: { created: new Date(Number(createdMs)), id: Number(id) } }
}

const serializeRunCursor = (listId: string, page: number, { created_at, id }: RunOfObject): string | undefined =>
  serializeCursor(listId, { page, keys: [String(created_at.getTime()), String(id)] })

const { runs: signatures } = pipelineOperations

export const allRunsOperations = {
  list: definePipelineOperation(signatures.list, listAllRuns),
  stream: definePipelineOperation(signatures.stream, followRuns),
}
