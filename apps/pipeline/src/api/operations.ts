import type { Operation } from '@sluice/http'
import { dataPipelineOperations } from './data-pipelines/operations.ts'
import { dataQualityCheckGroupOperations } from './data-quality-check-groups/operations.ts'
import { dataQualityCheckOperations } from './data-quality-checks/operations.ts'
import { destinationOperations } from './destinations/operations.ts'
import type { PipelineContext } from './operation.ts'
import { schemaOperations } from './schemas/operations.ts'

/** Everything the service can be asked. */
export const operations: readonly Operation<PipelineContext>[] = [
  ...Object.values(schemaOperations),
  ...Object.values(dataPipelineOperations),
  ...Object.values(dataQualityCheckOperations),
  ...Object.values(dataQualityCheckGroupOperations),
  ...Object.values(destinationOperations),
]
