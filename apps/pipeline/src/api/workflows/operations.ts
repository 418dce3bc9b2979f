import {
  type PageQuery,
  type Run,
  type SearchRequest,
  type defineRecordSignatures,
  type Workflow,
  type WorkflowBody,
  type WorkflowRunJob,
  type WorkflowSearchResult,
  pipelineOperations,
  toSearchRequest,
} from '@sluice/contracts'
import { buildPageHeaders, recordOperations, createSharingOperations } from '@sluice/records'
import { JsonResponse, type OperationInput } from '@sluice/http-server'
import type { Kysely } from 'kysely'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { runOperations } from '../runs/operations.ts'
import { saveManyOperation } from '../bulk-saves/save-by-name.ts'
import { assertSharingTargets } from '../object-access.ts'
import { workflowRecords } from './records.ts'
import { assertHasJobs, workflowBulkSave, workflowWriting } from './write.ts'
import type { DB } from '../../database.ts'
import { listRuns } from '../../runs/read-runs.ts'
import { lookUpUsernames } from '../record-fields.ts'
import { presentRun } from '../runs/run-responses.ts'
import { getJobType } from './job-types.ts'

/** Lists the runs of a workflow, newest first, with the state of each job. */
async function listWorkflowRuns(
  input: OperationInput<PipelineContext, '/workflows/:uid/runs', PageQuery, undefined>,
): Promise<JsonResponse<Run[]>> {
  const { db, caller, params, query, request, identity } = input
  const row = await workflowRecords.read(db, caller, params.uid)
  const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 50 }
  const { rows, total } = await listRuns(db, row.id, page)
  const authors = rows.map((run) => run.created_by)
  const [findUsername, jobs] = await Promise.all([lookUpUsernames(authors, identity), readJobs(db, rows)])
  const presentedRuns = rows.map((run) => ({
    ...presentRun(run, findUsername(run.created_by)),
    jobs: jobs.get(run.id) ?? [],
  }))
  return new JsonResponse(presentedRuns, buildPageHeaders({ ...page, total }, request.url))
}

/** Returns the jobs of each workflow run, in the order of the steps. */
async function readJobs(db: Kysely<DB>, runs: readonly { id: number }[]): Promise<Map<number, WorkflowRunJob[]>> {
  const rows = await db
    .selectFrom('workflow_run_jobs as j')
    .leftJoin('runnables as o', 'o.id', 'j.runnable_id')
    .leftJoin('runs as c', 'c.id', 'j.child_run_id')
    .select(['j.run_id', 'j.step', 'j.job', 'j.kind', 'j.name', 'j.state', 'j.started_at', 'j.finished_at'])
    .select(['o.uid as object_uid', 'c.uid as child_uid', 'c.state as child_state', 'c.started_at as child_started'])
    // No run has the key 0. It is there because SQL does not allow an empty list.
    .where('j.run_id', 'in', [0, ...runs.map(({ id }) => id)])
    .orderBy('j.run_id')
    .orderBy('j.step')
    .orderBy('j.job')
    .execute()
  const rowsByRun = Map.groupBy(rows, ({ run_id }) => run_id)
  return new Map([...rowsByRun].map(([run, jobs]) => [run, jobs.map(presentJob)]))

  function presentJob(row: (typeof rows)[number]): WorkflowRunJob {
    // The job has queued its run, but no worker has claimed the run yet.
    const isWaitingForWorker = row.state === 'RUNNING' && row.child_state === 'QUEUED'
    return {
      step: row.step,
      job: row.job,
      jobType: getJobType(row.kind),
      name: row.name,
      uid: row.object_uid ?? undefined,
      status: isWaitingForWorker ? 'QUEUED' : (row.state as WorkflowRunJob['status']),
      taskId: row.child_uid ?? undefined,
      started: isWaitingForWorker ? undefined : (row.child_started ?? row.started_at)?.toISOString(),
      finished: row.finished_at?.toISOString(),
    }
  }
}

const { workflows: signatures } = pipelineOperations
const workflowResource = { operation: definePipelineOperation, records: workflowRecords, writing: workflowWriting }
type WorkflowSignatures = ReturnType<typeof defineRecordSignatures<string, Workflow, WorkflowBody>>

export const workflowOperations = {
  // The two lists below replace those of `recordOperations`, because they return an object with paging information.
  ...recordOperations(signatures as unknown as WorkflowSignatures, workflowResource),
  saveMany: saveManyOperation(signatures.saveMany, workflowBulkSave),
  list: definePipelineOperation(signatures.list, async (input) => {
    const request = toSearchRequest(input.query)
    return toSearchResult(await workflowRecords.search(input.db, input, request, input.request.url), request)
  }),

  search: definePipelineOperation(signatures.search, async (input) =>
    toSearchResult(await workflowRecords.search(input.db, input, input.body), input.body),
  ),

  ...createSharingOperations(signatures, workflowResource, assertSharingTargets),
  ...createLineageOperation(signatures, { kind: 'WORKFLOW', records: workflowRecords }),
  ...runOperations(signatures, { kind: 'WORKFLOW', records: workflowRecords, checkReady: assertHasJobs }),
  runs: definePipelineOperation(signatures.runs, listWorkflowRuns),
}

/** Presents a page of workflows as an object, which repeats the totals from the headers. */
function toSearchResult(
  { body, headers }: JsonResponse<Workflow[]>,
  { paging }: SearchRequest,
): JsonResponse<WorkflowSearchResult> {
  const page = Number(headers['X-Page'])
  const pageSize = Number(headers['X-Page-Size'])
  const total = headers['X-Total-Count']
  const pager = {
    page,
    pageSize,
    offset: paging.after === undefined ? (page - 1) * pageSize : 0,
    ...(total !== undefined && { totalCount: Number(total), pageCount: Number(headers['X-Page-Count']) }),
  }
  return new JsonResponse({ results: body, pager }, headers)
}
