import type { CursorResetBody, ResultEnvelope } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import type { PipelineContext } from '../operation.ts'
import { resultEnvelope } from '../result-envelope.ts'
import { dataPipelines } from './records.ts'

type Asking = Input<PipelineContext, '/data-pipelines/:uid/reset-cursor', undefined, CursorResetBody>

/** Leaves a mark that the next run goes by. A run that is under way has read its mark already, and keeps the new one. */
export async function resetCursor(input: Asking): Promise<ResultEnvelope> {
  const { caller, params, body, request, sources, write } = input
  const { from } = body
  await write(async (trx) => {
    const row = await dataPipelines.lock(trx, caller, params.uid, undefined)
    const can = await sources.cursorOf(row.type)
    if (can === 'NONE') throw problems.refused('/', 'This pipeline has no cursor: each of its runs reads everything.')
    if (from !== undefined && can === 'OPAQUE')
      throw problems.refused(
        '/from',
        'The cursor of this source is not a moment. Leave `from` out to read everything once.',
      )
    if (from !== undefined && Date.parse(from) > Date.now())
      throw problems.refused('/from', 'This moment is in the future. Choose one in the past.')
    const reset = from === undefined ? {} : { from: new Date(from).toISOString() }
    await trx
      .updateTable('data_pipelines')
      .set({ cursor_reset: JSON.stringify(reset) })
      .where('id', '=', row.id)
      .execute()
    request.audit(params.uid, { cursorReset: reset })
  })
  const then =
    from === undefined
      ? 'The next run reads everything and replaces the rows.'
      : `The next increment reads what has changed since ${new Date(from).toISOString()}.`
  return resultEnvelope({ area: 'cursor', key: 'reset', message: `The cursor is reset. ${then}` })
}
