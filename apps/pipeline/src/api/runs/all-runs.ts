import { type ObjectRun, type RunListQuery, pipelineOperations } from '@sluice/contracts'
import { JsonResponse, type OperationInput } from '@sluice/http-server'
import { buildPageHeaders, readCursor, serializeCursor } from '@sluice/records'
import { listRunsOfObjects } from './runs-of-objects.ts'
import { selectVisibleRunnables } from '../objects/object-kinds.ts'
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
  // The cursor has the creation time in milliseconds and the primary key of the last run of the previous page.
  const cursor = readCursor(listId, after, [/^\d{1,13}$/, /^\d{1,15}$/])
  const matchingRuns = await listRunsOfObjects(
    db,
    { ...filter, client: caller.client, objects: selectVisibleRunnables(caller, filter) },
    {
      since: since === undefined ? undefined : new Date(since),
      after: cursor && { created: new Date(Number(cursor.keys[0])), id: Number(cursor.keys[1]) },
      limit: pageSize + 1,
    },
  )
  const runs = matchingRuns.slice(0, pageSize)
  const findUsername = await lookUpUsernames(
    runs.map((run) => run.created_by),
    identity,
  )
  const page = cursor?.page ?? 1
  const lastRun = runs.at(-1)
  const headers = buildPageHeaders(
    {
      page,
      pageSize,
      more: matchingRuns.length > pageSize,
      cursor:
        lastRun &&
        serializeCursor(listId, {
          page: page + 1,
          keys: [String(lastRun.created_at.getTime()), String(lastRun.id)],
        }),
      onlyCursors: true,
    },
    request.url,
  )
  return new JsonResponse(
    runs.map((run) => presentObjectRun(run, findUsername(run.created_by))),
    headers,
  )
}

const { runs: signatures } = pipelineOperations

export const allRunsOperations = {
  list: definePipelineOperation(signatures.list, listAllRuns),
  stream: definePipelineOperation(signatures.stream, followRuns),
}
