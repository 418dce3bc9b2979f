import { type CheckResult, type PageQuery, hasRole } from '@sluice/contracts'
import { JsonResponse, type Caller, type OperationInput, problems } from '@sluice/http-server'
import { type Records, isUid, buildPageHeaders, visibleTo } from '@sluice/records'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import {
  type CheckOutcome,
  type CheckStatus,
  type CheckFindings,
  couldNotBeRun,
} from '../../quality-checks/run-checks.ts'
import { presentQueryResult } from '../table-responses.ts'
import { listCheckResults } from '../../quality-checks/check-result-repository.ts'
import type { RequestContext, PipelineContext } from '../operation-context.ts'

/** Returns the uids of the checks that the caller may read. Responses omit the violating rows of other checks. */
export async function findReadableUids(db: Kysely<DB>, caller: Caller, uids: readonly string[]): Promise<Set<string>> {
  if (uids.length === 0 || !hasRole(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK')) return new Set()
  const rows = await db
    .selectFrom('data_quality_checks as r')
    .select('r.uid')
    .where('r.uid', 'in', [...uids])
    .where(visibleTo(caller, 'READ'))
    .execute()
  return new Set(rows.map(({ uid }) => uid))
}

/** Presents the result of a check. Omits the violating rows if the caller may not read them. */
export function presentOutcome(
  { check, status, message, findings, completedAt }: Omit<CheckOutcome, 'publicMessage'>,
  mayReadRows: boolean,
): CheckResult {
  return {
    dataQualityCheckId: check.uid,
    name: check.name,
    status,
    // The error message of a warehouse may contain values of rows.
    message: status === 'ERROR' && !mayReadRows ? couldNotBeRun : message,
    completedAt: completedAt.toISOString(),
    violations: findings?.violations,
    ...(findings &&
      mayReadRows && { data: presentQueryResult(check.name, { ...findings, rowCount: findings.violations }) }),
  }
}

interface RunnableRow {
  id: number
  uid: string
  version: number
}

type QualityResultsRequest = Pick<
  OperationInput<PipelineContext, '/:uid/:taskId', PageQuery, undefined>,
  'params' | 'query'
> &
  RequestContext

/**
 * Returns a handler that reads the check results of a run. The caller must be allowed to read the pipeline or check
 * group of the run.
 */
export const qualityResultsOf =
  <R extends RunnableRow>(records: Records<R, any, RequestContext>) =>
  async (input: QualityResultsRequest): Promise<JsonResponse<CheckResult[]>> => {
    const { db, caller, params, query, request } = input
    const { id } = await records.read(db, caller, params.uid)
    const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 20 }
    const results = isUid(params.taskId) && (await listCheckResults(db, id, params.taskId, page))
    if (!results) throw problems.notFound('run')
    const readable = await findReadableUids(
      db,
      caller,
      results.rows.map((row) => row.check_uid),
    )
    const outcomes = results.rows.map((row) =>
      presentOutcome(
        {
          check: { uid: row.check_uid, name: row.check_name, query: '' },
          status: row.status as CheckStatus,
          message: row.message ?? '',
          ...(row.data !== null && { findings: row.data as unknown as CheckFindings }),
          completedAt: row.completed_at,
        },
        readable.has(row.check_uid),
      ),
    )
    return new JsonResponse(outcomes, buildPageHeaders({ ...page, total: results.total }, request.url))
  }
