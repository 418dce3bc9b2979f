import type { PageQuery, Run, WorkflowRunJob } from '@sluice/contracts'
import { Answer, type Input } from '@sluice/http'
import { pageHeaders } from '@sluice/records'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { listRuns } from '../../engine/runs/read-runs.ts'
import { usernamesOf } from '../authors.ts'
import type { PipelineContext } from '../operation.ts'
import { presentRun } from '../runs/present-run.ts'
import { jobTypeOf } from './job-kinds.ts'
import { workflows } from './records.ts'

/** The runs of a workflow, newest first, each with where its jobs are. */
export async function runs(
  input: Input<PipelineContext, '/workflows/:uid/runs', PageQuery, undefined>,
): Promise<Answer<Run[]>> {
  const { db, caller, params, query, request, identity } = input
  const row = await workflows.read(db, caller, params.uid)
  const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 50 }
  const { rows, total } = await listRuns(db, row.id, page)
  const authors = rows.map((run) => run.created_by)
  const [usernames, jobs] = await Promise.all([usernamesOf(authors, identity), jobsOf(db, rows)])
  const answer = rows.map((run) => ({ ...presentRun(run, usernames(run.created_by)), jobs: jobs.get(run.id) ?? [] }))
  return new Answer(answer, pageHeaders({ ...page, total }, request.url))
}

async function jobsOf(db: Kysely<DB>, runs: readonly { id: number }[]): Promise<Map<number, WorkflowRunJob[]>> {
  const rows = await db
    .selectFrom('workflow_run_jobs as j')
    .leftJoin('runnables as o', 'o.id', 'j.runnable_id')
    .leftJoin('runs as c', 'c.id', 'j.child_run_id')
    .select(['j.run_id', 'j.step', 'j.job', 'j.kind', 'j.name', 'j.state', 'j.started_at', 'j.finished_at'])
    .select(['o.uid as object_uid', 'c.uid as child_uid', 'c.state as child_state', 'c.started_at as child_started'])
    .where('j.run_id', 'in', [0, ...runs.map(({ id }) => id)])
    .orderBy('j.run_id')
    .orderBy('j.step')
    .orderBy('j.job')
    .execute()
  const grouped = Map.groupBy(rows, ({ run_id }) => run_id)
  return new Map([...grouped].map(([run, jobs]) => [run, jobs.map(presentJob)]))

  function presentJob(row: (typeof rows)[number]): WorkflowRunJob {
    // Its run waits for a slot: no worker has it in hand.
    const waits = row.state === 'RUNNING' && row.child_state === 'QUEUED'
    return {
      step: row.step,
      job: row.job,
      jobType: jobTypeOf(row.kind),
      name: row.name,
      uid: row.object_uid ?? undefined,
      status: waits ? 'QUEUED' : (row.state as WorkflowRunJob['status']),
      taskId: row.child_uid ?? undefined,
      started: waits ? undefined : (row.child_started ?? row.started_at)?.toISOString(),
      finished: row.finished_at?.toISOString(),
    }
  }
}
