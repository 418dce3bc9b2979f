import { recordSignatures, sharingSignatures } from '../../crud-signatures.ts'
import { lineageSignature } from '../lineage.ts'
import { Schema, SchemaBody } from '../schema.ts'

const schemaResource = {
  noun: 'schema',
  plural: 'schemas',
  path: '/schemas',
  see: ['ROLE_SEE_SCHEMA'],
  manage: ['ROLE_MANAGE_SCHEMA'],
  resource: Schema,
  body: SchemaBody,
} as const

export const schemaSignatures = {
  ...recordSignatures(schemaResource),
  ...sharingSignatures(schemaResource),
  ...lineageSignature(schemaResource),
}
