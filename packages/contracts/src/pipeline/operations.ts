import { dataPipelineSignatures } from './operations/data-pipelines.ts'
import { dataQualityCheckGroupSignatures } from './operations/data-quality-check-groups.ts'
import { dataQualityCheckSignatures } from './operations/data-quality-checks.ts'
import { destinationSignatures } from './operations/destinations.ts'
import { schemaSignatures } from './operations/schemas.ts'

/** Everything that the pipeline service can be asked. */
export const pipelineOperations = {
  schemas: schemaSignatures,
  dataPipelines: dataPipelineSignatures,
  destinations: destinationSignatures,
  dataQualityChecks: dataQualityCheckSignatures,
  dataQualityCheckGroups: dataQualityCheckGroupSignatures,
}
