import { pipelineOperations } from '@sluice/contracts'
import { definePipelineOperation } from '../operation-context.ts'
import { applyConfiguration, planConfiguration } from './apply-configuration.ts'
import { exportConfiguration } from './export-configuration.ts'

const { configuration: signatures } = pipelineOperations

export const configurationOperations = {
  export: definePipelineOperation(signatures.export, exportConfiguration),
  plan: definePipelineOperation(signatures.plan, planConfiguration),
  apply: definePipelineOperation(signatures.apply, applyConfiguration),
}
