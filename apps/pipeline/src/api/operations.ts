import type { Operation } from '@sluice/http-server'
import { auditOperations } from './audit/operations.ts'
import { catalogueOperations } from './catalogue/operations.ts'
import { configurationOperations } from './configuration/operations.ts'
import { dataPipelineOperations } from './data-pipelines/operations.ts'
import { dataQualityCheckGroupOperations } from './data-quality-check-groups/operations.ts'
import { dataQualityCheckOperations } from './data-quality-checks/operations.ts'
import { deletedClientOperations } from './deleted-clients/operations.ts'
import { destinationOperations } from './destinations/operations.ts'
import type { PipelineContext } from './operation-context.ts'
import { allRunsOperations } from './runs/all-runs.ts'
import { resumableUploadOperations } from './resumable-uploads/operations.ts'
import { scheduleOperations } from './schedules/operations.ts'
import { publicOperations } from './public-data/operations.ts'
import { publicDatasetOperations } from './public-datasets/operations.ts'
import { queryOperations } from './queries/operations.ts'
import { schemaOperations } from './schemas/operations.ts'
import { settingOperations } from './settings/operations.ts'
import { variableOperations } from './variables/operations.ts'
import { viewOperations } from './views/operations.ts'
import { warehouseReaderOperations } from './warehouse-readers/operations.ts'
import { workflowOperations } from './workflows/operations.ts'

export const operations: readonly Operation<PipelineContext>[] = [
  ...Object.values(schemaOperations),
  ...Object.values(catalogueOperations),
  ...Object.values(queryOperations),
  ...Object.values(viewOperations),
  ...Object.values(settingOperations),
  ...Object.values(variableOperations),
  ...Object.values(dataPipelineOperations),
  ...Object.values(resumableUploadOperations),
  ...Object.values(publicDatasetOperations),
  ...Object.values(dataQualityCheckOperations),
  ...Object.values(dataQualityCheckGroupOperations),
  ...Object.values(destinationOperations),
  ...Object.values(workflowOperations),
  ...Object.values(configurationOperations),
  ...Object.values(warehouseReaderOperations),
  ...Object.values(allRunsOperations),
  ...Object.values(scheduleOperations),
  ...Object.values(publicOperations),
  ...Object.values(deletedClientOperations),
  ...Object.values(auditOperations),
]
