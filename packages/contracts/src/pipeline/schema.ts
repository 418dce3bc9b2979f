import { Type } from 'typebox'
import { ObjectAccess, AccessPart } from '../object-access.ts'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  authorFields,
  defineRequestBody,
  NonNegativeInteger,
  SingleLineText,
  namedAndDescribed,
  permittedFields,
  recordFields,
  TagList,
  LongText,
  Uid,
  WarehouseName,
} from '../field-types.ts'
import { warehouseTypes } from './data-pipeline/connector-types.ts'

export const providerSchemas = Object.values(warehouseTypes)

const schemaFields = {
  ...namedAndDescribed,
  /** The schema in the warehouse. It cannot be changed later. Default: derived from the name. */
  schemaName: Type.Optional(WarehouseName),
  description: Type.Optional(LongText),
  tags: Type.Optional(TagList),
  permanent: Type.Boolean(),
  providerSchema: Type.Enum([...providerSchemas]),
}

const profileTablesNote =
  'Whether loads measure a profile of each table of the schema. false deletes the profiles of its tables at once.'

export const SchemaBody = defineContract(
  'SchemaBody',
  defineRequestBody(
    {
      ...schemaFields,
      profileTables: Type.Optional(
        Type.Boolean({ description: `${profileTablesNote} Default: as before; true for a new schema.` }),
      ),
      access: Type.Optional(AccessPart),
    },
    ['client', 'statistics', 'displayDescription', 'tagString'],
  ),
)
export type SchemaBody = TypeOf<typeof SchemaBody>

export const Schema = defineContract(
  'Schema',
  Type.Object(
    {
      ...recordFields,
      ...authorFields,
      ...permittedFields,
      client: SingleLineText,
      ...schemaFields,
      schemaName: SingleLineText,
      profileTables: Type.Boolean({ description: profileTablesNote }),
      access: ObjectAccess,
      statistics: Type.Object({ dataPipelines: NonNegativeInteger, views: NonNegativeInteger }, noUnknownFields),
      displayDescription: Type.Optional(LongText),
      tagString: Type.Optional(LongText),
    },
    noUnknownFields,
  ),
)
export type Schema = TypeOf<typeof Schema>

/**
 * A schema inside another object. Callers who may not read the schema see only the fields that the other object
 * contains anyway.
 */
export const ReferencedSchema = defineContract(
  'ReferencedSchema',
  Type.Object(
    { ...Type.Partial(Schema).properties, id: Uid, name: SingleLineText, schemaName: SingleLineText },
    noUnknownFields,
  ),
)
export type ReferencedSchema = TypeOf<typeof ReferencedSchema>
