import { pipelineOperations } from '@sluice/contracts'
import { recordOperations } from '@sluice/records'
import { definePipelineOperation } from '../operation-context.ts'
import { variableRecords } from './records.ts'
import { saveVariables, variableWriting } from './write.ts'

const { variables: signatures } = pipelineOperations

export const variableOperations = {
  ...recordOperations(signatures, {
    operation: definePipelineOperation,
    records: variableRecords,
    writing: variableWriting,
  }),
  save: definePipelineOperation(signatures.save, saveVariables),
}
