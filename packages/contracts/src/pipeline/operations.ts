import { dataPipelineSignatures } from './operations/data-pipelines.ts'
import { schemaSignatures } from './operations/schemas.ts'

/** Everything that the pipeline service can be asked. */
export const pipelineOperations = {
  schemas: schemaSignatures,
  dataPipelines: dataPipelineSignatures,
}
