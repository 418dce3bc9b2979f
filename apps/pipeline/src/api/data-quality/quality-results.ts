import type { CheckResult, PageQuery } from '@sluice/contracts'
import { Answer, problems, type Input } from '@sluice/http'
import { isUid, pageHeaders, type Records } from '@sluice/records'
import { listResults } from '../../engine/quality/keep-results.ts'
import type { CheckStatus, Found } from '../../engine/quality/run-checks.ts'
import type { Asked, PipelineContext } from '../operation.ts'
import { presentOutcome, readableChecks } from './present-results.ts'

interface Row {
  id: number
  uid: string
  version: number
}

type Asking = Pick<Input<PipelineContext, '/:uid/:taskId', PageQuery, undefined>, 'params' | 'query'> & Asked

/** Answers what the checks of a run found, for whoever may read the thing that was run. */
export const qualityResultsOf =
  <R extends Row>(records: Records<R, any, Asked>) =>
  async (input: Asking): Promise<Answer<CheckResult[]>> => {
    const { db, caller, params, query, request } = input
    const { id } = await records.read(db, caller, params.uid)
    const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 20 }
    const found = isUid(params.taskId) && (await listResults(db, id, params.taskId, page))
    if (!found) throw problems.notFound('run')
    const readable = await readableChecks(
      db,
      caller,
      found.rows.map((row) => row.check_uid),
    )
    const answer = found.rows.map((row) =>
      presentOutcome(
        {
          check: { uid: row.check_uid, name: row.check_name, query: '' },
          status: row.status as CheckStatus,
          message: row.message ?? '',
          ...(row.data !== null && { found: row.data as unknown as Found }),
          completedAt: row.completed_at,
        },
        readable.has(row.check_uid),
      ),
    )
    return new Answer(answer, pageHeaders({ ...page, total: found.total }, request.url))
  }
