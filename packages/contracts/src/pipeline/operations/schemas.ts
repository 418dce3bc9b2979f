import { defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { defineLineageSignature } from '../lineage.ts'
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
  ...defineRecordSignatures(schemaResource),
  ...defineSharingSignature(schemaResource),
  ...defineLineageSignature(schemaResource),
}
