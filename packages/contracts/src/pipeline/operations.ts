import { configurationSignatures } from './operations/configuration.ts'
import { dataPipelineSignatures } from './operations/data-pipelines.ts'
import { dataQualityCheckGroupSignatures } from './operations/data-quality-check-groups.ts'
import { dataQualityCheckSignatures } from './operations/data-quality-checks.ts'
import { deletedClientSignatures } from './operations/deleted-clients.ts'
import { destinationSignatures } from './operations/destinations.ts'
import { catalogueSignatures } from './operations/catalogue.ts'
import { publicDatasetSignatures } from './operations/public-datasets.ts'
import { publicSignatures } from './operations/public-data.ts'
import { schemaSignatures } from './operations/schemas.ts'
import { settingSignatures } from './operations/settings.ts'
import { variableSignatures } from './operations/variables.ts'
import { viewSignatures } from './operations/views.ts'
import { workflowSignatures } from './operations/workflows.ts'

export const pipelineOperations = {
  schemas: schemaSignatures,
  settings: settingSignatures,
  variables: variableSignatures,
  catalogue: catalogueSignatures,
  views: viewSignatures,
  dataPipelines: dataPipelineSignatures,
  destinations: destinationSignatures,
  dataQualityChecks: dataQualityCheckSignatures,
  dataQualityCheckGroups: dataQualityCheckGroupSignatures,
  workflows: workflowSignatures,
  configuration: configurationSignatures,
  publicDatasets: publicDatasetSignatures,
  public: publicSignatures,
  deletedClients: deletedClientSignatures,
}
