import type { RunnableKind } from '../runs/runnable.ts'
import { pipelineWork } from './load-pipeline.ts'
import { destinationWork } from './push-destination.ts'
import { checkGroupWork } from './run-check-group.ts'
import { viewWork } from './refresh-view.ts'
import type { Work } from './work.ts'

/** What each kind does. A workflow does nothing itself: its run goes on when the runs of its jobs end. */
export const works: Partial<Record<RunnableKind, Work>> = {
  DATA_PIPELINE: pipelineWork,
  DATA_QUALITY_CHECK_GROUP: checkGroupWork,
  DESTINATION: destinationWork,
  VIEW: viewWork,
}
