import { Type } from 'typebox'
import { Access, AccessPart } from '../object-access.ts'
import { closed, contract, type TypeOf } from '../contract.ts'
import {
  authored,
  body,
  Count,
  Line,
  namedAndDescribed,
  recorded,
  Tags,
  Text,
  Uid,
  WarehouseName,
} from '../field-types.ts'
import { warehouseTypes } from './data-pipeline/connector-types.ts'

export const providerSchemas = Object.values(warehouseTypes)

const schemaFields = {
  ...namedAndDescribed,
  /** The schema in the warehouse; derived from the name when absent, and permanent. */
  schemaName: Type.Optional(WarehouseName),
  description: Type.Optional(Text),
  tags: Type.Optional(Tags),
  permanent: Type.Boolean(),
  providerSchema: Type.Enum([...providerSchemas]),
}

export const SchemaBody = contract(
  'SchemaBody',
  body({ ...schemaFields, access: Type.Optional(AccessPart) }, [
    'client',
    'statistics',
    'displayDescription',
    'tagString',
  ]),
)
export type SchemaBody = TypeOf<typeof SchemaBody>

export const Schema = contract(
  'Schema',
  Type.Object(
    {
      ...recorded,
      ...authored,
      client: Line,
      ...schemaFields,
      schemaName: Line,
      access: Access,
      statistics: Type.Object({ dataPipelines: Count, views: Count }, closed),
      displayDescription: Type.Optional(Text),
      tagString: Type.Optional(Text),
    },
    closed,
  ),
)
export type Schema = TypeOf<typeof Schema>

/** A schema inside another object. Callers who may not read the schema only see the fields that the other object contains anyway. */
export const ReferencedSchema = contract(
  'ReferencedSchema',
  Type.Object({ ...Type.Partial(Schema).properties, id: Uid, name: Line, schemaName: Line }, closed),
)
export type ReferencedSchema = TypeOf<typeof ReferencedSchema>
