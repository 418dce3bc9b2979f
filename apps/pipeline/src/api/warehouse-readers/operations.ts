import { pipelineOperations } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { recordOperations } from '@sluice/records'
import { definePipelineOperation } from '../operation-context.ts'
import { warehouseReaderRecords } from './records.ts'
import { createReader, rotateReader, updateReader, warehouseReaderWriting } from './write.ts'

const { warehouseReaders: signatures } = pipelineOperations

export const warehouseReaderOperations = {
  // Must precede `/warehouse-readers/:uid`, which would match this path too.
  certificate: definePipelineOperation(signatures.certificate, async ({ readerCertificate: certificate }) => {
    if (certificate === undefined) throw problems.notFound('warehouse certificate: the operator has configured none')
    return { certificate }
  }),
  ...recordOperations(signatures, {
    operation: definePipelineOperation,
    records: warehouseReaderRecords,
    writing: warehouseReaderWriting,
  }),
  create: definePipelineOperation(signatures.create, createReader),
  update: definePipelineOperation(signatures.update, updateReader),
  rotate: definePipelineOperation(signatures.rotate, rotateReader),
}
