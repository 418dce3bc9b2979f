import type { Transaction } from 'kysely'
import type { ResultEnvelope, RunBody } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import type { DB } from '../../database.ts'
import { cancelRun } from '../../engine/runs/cancel-run.ts'
import { createRun } from '../../engine/runs/create-run.ts'
import type { PipelineContext } from '../operation.ts'
import { dataPipelines } from './records.ts'
import type { DataPipelineRow } from './row.ts'
import { kindOf } from './types/registry.ts'

type Asking<Body> = Input<PipelineContext, '/data-pipelines/:uid/run', undefined, Body>

/** Queues a run, of the file that is there now where the pipeline loads one. While one is under way, asking again answers that one. */
export async function runPipeline({ caller, params, request, queue, write }: Asking<RunBody>): Promise<ResultEnvelope> {
  const { run, existing } = await write(async (trx) => {
    const pipeline = await dataPipelines.lock(trx, caller, params.uid, undefined)
    if (pipeline.disabled) throw problems.refused('/disabled', 'The pipeline is disabled: enable it first.')
    const input = kindOf(pipeline.type).upload ? { file: await fileOf(trx, pipeline) } : {}
    const created = await createRun(trx, queue, {
      pipelineId: pipeline.id,
      client: caller.client,
      trigger: 'MANUAL',
      createdBy: caller.uid,
      input,
    })
    request.audit(params.uid, { run: created.run.uid })
    return created
  })
  return accepted(existing ? 'A run was under way already; this is it.' : 'The run is queued.', run.uid)
}

async function fileOf(trx: Transaction<DB>, { id, uid }: DataPipelineRow) {
  const file = await trx
    .selectFrom('uploaded_files')
    .select(['uid', 'name', 'size', 'sha256'])
    .where('pipeline_id', '=', id)
    .executeTakeFirst()
  if (!file)
    throw problems.refused('/file', `There is no file to load yet: upload one to /api/v1/data-pipelines/${uid}/file.`)
  return file
}

/** Cancels the run under way; its worker notices within two seconds, and the table stays as it is. */
export async function cancelPipeline({ caller, params, request, write }: Asking<undefined>): Promise<ResultEnvelope> {
  const cancelled = await write(async (trx) => {
    const pipeline = await dataPipelines.lock(trx, caller, params.uid, undefined)
    const run = await cancelRun(trx, pipeline.id)
    request.audit(params.uid, { run: run?.uid })
    return run
  })
  if (!cancelled) throw problems.refused('/', 'No run of this pipeline is queued or running.')
  return accepted('The run is cancelled; the table stays as it was.', cancelled.uid)
}

const accepted = (message: string, run: string): ResultEnvelope => ({
  status: 'OK',
  httpStatus: '202 Accepted',
  httpStatusCode: 202,
  statusCode: 202,
  errorCode: 'OK',
  message,
  data: { jobId: run, taskId: run },
})
