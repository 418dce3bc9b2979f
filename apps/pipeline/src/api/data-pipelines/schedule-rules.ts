import type { DataPipelineBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { AnyKind } from './types/registry.ts'

/** When a pipeline of this type may run. */
export function checkSchedule(body: DataPipelineBody, { scheduleable }: AnyKind): void {
  const { runTrigger, cronExpression } = body
  if (runTrigger !== 'NEVER' && !scheduleable)
    throw problems.refused(
      '/runTrigger',
      'An uploaded file is loaded when you run the pipeline, not on a schedule: use NEVER.',
    )
  if (runTrigger === 'CUSTOM' && !cronExpression?.trim())
    throw problems.refused('/cronExpression', 'With the trigger CUSTOM, say when: for example 0 6 * * 1-5.')
  if (body.continuouslyUpdated || body.continuousUpdateInterval || body.fullRefreshInterval)
    throw problems.refused(
      '/continuouslyUpdated',
      scheduleable
        ? 'Continuous updates are not carried out yet: each run loads everything anew.'
        : 'An uploaded file is loaded whole at each run: leave continuous updates out.',
    )
}
