import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, sharingOperations } from '@sluice/records'
import { operation } from '../operation.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import { dataQualityChecks } from './records.ts'
import { runOneCheck } from './run-check.ts'
import { checkWriting } from './write.ts'

const kind = { operation, records: dataQualityChecks, writing: checkWriting }
const { dataQualityChecks: signatures } = pipelineOperations

export const dataQualityCheckOperations = {
  ...recordOperations(signatures, kind),
  ...sharingOperations(signatures, kind, checkSharingTargets),
  run: operation(signatures.run, runOneCheck),
}
