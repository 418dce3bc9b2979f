import { auditSignatures } from './operations/audit.ts'
import { configurationSignatures } from './operations/configuration.ts'
import { dataPipelineSignatures } from './operations/data-pipelines.ts'
import { dataQualityCheckGroupSignatures } from './operations/data-quality-check-groups.ts'
import { dataQualityCheckSignatures } from './operations/data-quality-checks.ts'
import { deletedClientSignatures } from './operations/deleted-clients.ts'
import { destinationSignatures } from './operations/destinations.ts'
import { catalogueSignatures } from './operations/catalogue.ts'
import { publicDatasetSignatures } from './operations/public-datasets.ts'
import { publicSignatures } from './operations/public-data.ts'
import { querySignatures } from './operations/queries.ts'
import { resumableUploadSignatures } from './operations/resumable-uploads.ts'
import { runListSignatures } from './operations/runs.ts'
import { scheduleSignatures } from './operations/schedules.ts'
import { schemaSignatures } from './operations/schemas.ts'
import { settingSignatures } from './operations/settings.ts'
import { variableSignatures } from './operations/variables.ts'
import { viewSignatures } from './operations/views.ts'
import { warehouseReaderSignatures } from './operations/warehouse-readers.ts'
import { workflowSignatures } from './operations/workflows.ts'

export const pipelineOperations = {
  schemas: schemaSignatures,
  settings: settingSignatures,
  variables: variableSignatures,
  catalogue: catalogueSignatures,
  queries: querySignatures,
  views: viewSignatures,
  dataPipelines: dataPipelineSignatures,
  resumableUploads: resumableUploadSignatures,
  destinations: destinationSignatures,
  dataQualityChecks: dataQualityCheckSignatures,
  dataQualityCheckGroups: dataQualityCheckGroupSignatures,
  workflows: workflowSignatures,
  configuration: configurationSignatures,
  warehouseReaders: warehouseReaderSignatures,
  runs: runListSignatures,
  schedules: scheduleSignatures,
  publicDatasets: publicDatasetSignatures,
  public: publicSignatures,
  deletedClients: deletedClientSignatures,
  audit: auditSignatures,
}
