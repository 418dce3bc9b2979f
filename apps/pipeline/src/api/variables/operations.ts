import { pipelineOperations } from '@sluice/contracts'
import { recordOperations } from '@sluice/records'
import { operation } from '../operation-context.ts'
import { variables } from './records.ts'
import { saveVariables, variableWriting } from './write.ts'

const { variables: signatures } = pipelineOperations

export const variableOperations = {
  ...recordOperations(signatures, { operation, records: variables, writing: variableWriting }),
  save: operation(signatures.save, saveVariables),
}
