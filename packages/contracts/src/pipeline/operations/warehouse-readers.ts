import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { NewWarehouseReader, WarehouseCertificate, WarehouseReader, WarehouseReaderBody } from '../warehouse-reader.ts'

const readerResource = {
  noun: 'warehouse reader',
  plural: 'warehouseReaders',
  path: '/warehouse-readers',
  see: ['ROLE_SEE_SCHEMA'],
  manage: ['ROLE_MANAGE_SCHEMA'],
  resource: WarehouseReader,
  body: WarehouseReaderBody,
} as const

export const warehouseReaderSignatures = {
  /** Must precede `read`, because the path of `read` would match too. */
  certificate: defineSignature({
    id: 'warehouseReaders.certificate',
    summary: 'Get the certificate with which programs verify the warehouse server',
    description: 'Programs need it for `sslmode=verify-full`. The certificate is not secret.',
    method: 'get',
    path: '/warehouse-readers/certificate',
    guard: readerResource.see,
    response: WarehouseCertificate,
  }),
  ...defineRecordSignatures(readerResource),
  create: defineSignature({
    id: 'warehouseReaders.create',
    summary: 'Create a database login that reads schemas',
    description:
      'The login reads all tables and views of the schemas, present and future, including those that are not shared with the caller. So the caller also needs ROLE_VIEW_DATA_ALL_DATA_PIPELINE. Only this response and that of `rotate` contain the password.',
    method: 'post',
    path: '/warehouse-readers',
    guard: readerResource.manage,
    status: 201,
    body: WarehouseReaderBody,
    response: NewWarehouseReader,
    versioned: true,
  }),
  rotate: defineSignature({
    id: 'warehouseReaders.rotate',
    summary: 'Replace the password of a warehouse reader',
    description:
      'The old password becomes invalid, and open sessions end. Needs ROLE_VIEW_DATA_ALL_DATA_PIPELINE, too.',
    method: 'post',
    path: '/warehouse-readers/:uid/rotate',
    guard: readerResource.manage,
    response: NewWarehouseReader,
    versioned: true,
  }),
}
