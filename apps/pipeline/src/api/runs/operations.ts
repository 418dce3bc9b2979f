import type { PageQuery, ResultEnvelope, Run, RunBody, defineRunSignatures } from '@sluice/contracts'
import { JsonResponse, type OperationInput, problems } from '@sluice/http-server'
import { type Records, buildPageHeaders } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { cancelRun } from '../../run-lifecycle/cancel-run.ts'
import { listRuns } from '../../runs/read-runs.ts'
import type { CreatedRun } from '../../runs/queue-run.ts'
import { type RunAction, type RunnableKind, nounOf } from '../../runs/runnable-kinds.ts'
import { startRun } from '../../run-lifecycle/start-run.ts'
import { type PipelineContext, type RequestContext, definePipelineOperation } from '../operation-context.ts'
import { lookUpUsernames } from '../record-fields.ts'
import { createAcceptedRunResult } from '../result-envelope.ts'
import { presentRun } from './run-responses.ts'

/** The row of a runnable object, such as a pipeline or view. */
interface RunnableRow {
  id: number
  uid: string
  version: number
  client: string
  /** Undefined for objects that cannot be disabled. */
  disabled?: boolean
}

interface RunnableResource<Row extends RunnableRow> {
  kind: RunnableKind
  records: Records<Row, any, RequestContext>
  /** Throws 422 if the object cannot run as requested. */
  checkReady?(trx: Transaction<DB>, row: Row, body: RunBody, context: PipelineContext): Promise<void>
}

type RunRequest<Query, Body> = OperationInput<PipelineContext, '/:uid', Query, Body>

/** The second sentence of the message after a run was cancelled. */
const afterCancelling: Partial<Record<RunnableKind, string>> = {
  WORKFLOW: 'Its running jobs are cancelled, too.',
  DESTINATION: 'Data that was already sent stays in the target.',
}

/** Returns the operations that start, cancel and list the runs of an object. */
export function runOperations<Row extends RunnableRow>(
  signatures: ReturnType<typeof defineRunSignatures<string>>,
  { kind, records, checkReady }: RunnableResource<Row>,
) {
  const noun = nounOf[kind]
  return {
    run: definePipelineOperation(signatures.run, async (input): Promise<ResultEnvelope> => {
      const { caller, params, body, request, queue, write } = input as RunRequest<undefined, RunBody>
      const { run, existing } = await write(async (trx) => {
        const row = await records.lock(trx, caller, params.uid, undefined)
        if (row.disabled) throw problems.refused('/disabled', `The ${noun} is disabled. Enable it first.`)
        assertRebuildPossible(body, kind)
        assertRepeatPossible(body, kind)
        if (body.dryRun) assertDryRunPossible(kind)
        await checkReady?.(trx, row, body, input as RunRequest<undefined, RunBody>)
        const started = await startRun(
          trx,
          queue,
          { id: row.id, client: row.client, kind },
          {
            trigger: 'MANUAL',
            mode: body.mode ?? 'FULL',
            createdBy: caller.uid,
            ...(body.rebuild && { rebuild: true }),
            ...(body.repeatFile && { repeatFile: true }),
            ...(body.dryRun && { action: 'DRY_RUN' }),
          },
        )
        assertSameAction(started, body.dryRun ? 'DRY_RUN' : 'RUN')
        request.audit(params.uid, { run: started.run.uid, ...(body.dryRun && { dryRun: true }) })
        return started
      })
      if (existing) return createAlreadyRunningResult(run.uid)
      if (body.dryRun)
        return createAcceptedRunResult('dry-run-queued', 'The dry run is queued. It publishes nothing.', run.uid)
      return kind === 'WORKFLOW'
        ? createAcceptedRunResult('started', 'The run was started.', run.uid)
        : createAcceptedRunResult('queued', 'The run is queued.', run.uid)
    }),

    cancel: definePipelineOperation(signatures.cancel, async (input): Promise<ResultEnvelope> => {
      const { caller, params, request, queue, write } = input as RunRequest<undefined, undefined>
      const cancelled = await write(async (trx) => {
        const row = await records.lock(trx, caller, params.uid, undefined)
        const run = await cancelRun(trx, queue, row.id)
        request.audit(params.uid, { run: run?.uid })
        return run
      })
      if (!cancelled)
        throw problems.refused('/', `No run of this ${noun} is queued or running. Refresh the list of runs.`)
      return createAcceptedRunResult(
        'cancelled',
        `The run is cancelled. ${afterCancelling[kind] ?? 'This run changes nothing; the old data stays.'}`,
        cancelled.uid,
      )
    }),

    runs: definePipelineOperation(signatures.runs, async (input): Promise<JsonResponse<Run[]>> => {
      const { db, caller, params, query, request, identity } = input as RunRequest<PageQuery, undefined>
      const row = await records.read(db, caller, params.uid)
      const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 50 }
      const { rows, total } = await listRuns(db, row.id, page)
      const findUsername = await lookUpUsernames(
        rows.map((run) => run.created_by),
        identity,
      )
      const presentedRuns = rows.map((run) => presentRun(run, findUsername(run.created_by)))
      return new JsonResponse(presentedRuns, buildPageHeaders({ ...page, total }, request.url))
    }),
  }
}

function assertDryRunPossible(kind: RunnableKind): void {
  if (kind !== 'DATA_PIPELINE') throw problems.refused('/dryRun', 'Only data pipelines have dry runs. Omit dryRun.')
}

const runDescriptions: Readonly<Record<RunAction, string>> = {
  RUN: 'A run',
  DRY_RUN: 'A dry run',
  RESTORE: 'A restore of the previous table',
}

/** Throws 409 if the run that is already queued or running has another action than the requested one. */
export function assertSameAction({ run, existing }: CreatedRun, action: RunAction): void {
  const other = run.action as RunAction
  if (existing && other !== action)
    throw problems.conflict('/', `${runDescriptions[other]} is queued or running. Wait for its end, or cancel it.`)
}

function assertRebuildPossible({ mode, rebuild }: RunBody, kind: RunnableKind): void {
  if (!rebuild) return
  if (kind !== 'DATA_PIPELINE')
    throw problems.refused('/rebuild', 'Only the table of a data pipeline can be rebuilt. Omit rebuild.')
  if (mode === 'INCREMENTAL')
    throw problems.refused('/rebuild', 'A rebuild needs all rows of the source. Leave out mode, or set it to FULL.')
}

function assertRepeatPossible({ repeatFile }: RunBody, kind: RunnableKind): void {
  if (repeatFile && kind !== 'DATA_PIPELINE')
    throw problems.refused('/repeatFile', 'Only data pipelines have uploaded files. Omit repeatFile.')
}

/** Returns the envelope for a request to start a run while another run is queued or running. */
export const createAlreadyRunningResult = (run: string): ResultEnvelope =>
  createAcceptedRunResult('already-running', 'A run is already queued or running. No other run was started.', run)
