import { pipelineOperations } from '@sluice/contracts'
import { definePipelineOperation } from '../operation-context.ts'
import { followRuns } from './follow-runs.ts'
import { listAllRuns } from './list-runs.ts'

const { runs: signatures } = pipelineOperations

export const allRunsOperations = {
  list: definePipelineOperation(signatures.list, listAllRuns),
  stream: definePipelineOperation(signatures.stream, followRuns),
}
