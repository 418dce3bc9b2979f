import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, sharingOperations } from '@sluice/records'
import { operation } from '../operation-context.ts'
import { runOperations } from '../runs/operations.ts'
import { rejectedRowsOperation } from '../runs/rejected-rows-operation.ts'
import { assertSharingTargets } from '../object-access.ts'
import { lookUpSaved, testConnection, testTarget } from './test-target.ts'
import { destinations } from './records.ts'
import { destinationWriting } from './write.ts'

const destinationResource = { operation, records: destinations, writing: destinationWriting }
const { destinations: signatures } = pipelineOperations

export const destinationOperations = {
  // Must precede `/destinations/:uid`, which would match this path, too.
  testTarget: operation(signatures.testTarget, testTarget),
  ...recordOperations(signatures, destinationResource),
  ...sharingOperations(signatures, destinationResource, assertSharingTargets),
  ...runOperations(signatures, { kind: 'DESTINATION', records: destinations }),
  ...rejectedRowsOperation(signatures, destinations),
  testConnection: operation(signatures.testConnection, testConnection),
  lookup: operation(signatures.lookup, lookUpSaved),
}
