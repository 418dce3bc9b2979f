import { noUnknownFields } from '../../contract.ts'
import { Type, type TProperties } from 'typebox'
import { ObjectAccess, AccessPart } from '../../object-access.ts'
import {
  authorFields,
  defineRequestBody,
  bodyOf,
  SingleLineText,
  UrlOrEmpty,
  namedAndDescribed,
  permittedFields,
  requiredBecause,
  recordFields,
  ObjectReference,
  TagList,
  LongText,
  Uid,
  WarehouseName,
} from '../../field-types.ts'
import { scheduledBody, scheduledIgnored, scheduledResponse } from '../../schedule.ts'
import { DataPipelineStatus, writeModes } from '../run.ts'
import { ReferencedSchema } from '../schema.ts'

export const schemaChanges = ['EVOLVE', 'IGNORE_NEW', 'FAIL', 'REPLACE'] as const
export type SchemaChanges = (typeof schemaChanges)[number]

const SchemaChange = Type.Enum([...schemaChanges], {
  description:
    'The policy for changed columns of the source. EVOLVE, the default, adds new columns, widens types and keeps removed columns without values. IGNORE_NEW does not load new columns. FAIL rejects every change. REPLACE gives the table the columns and types of each load.',
})

const writeFields = {
  writeMode: Type.Optional(
    Type.Enum([...writeModes], {
      description:
        'The mode in which a run writes its rows. REPLACE, the default, replaces all rows of the table. APPEND adds rows, and adds each uploaded file or object of an object store only once. MERGE replaces the rows with the same mergeKey and adds the others; rows that the source no longer has stay. A run with `rebuild` replaces all rows in every mode.',
    }),
  ),
  mergeKey: Type.Optional(
    Type.Array(SingleLineText, {
      minItems: 1,
      maxItems: 32,
      uniqueItems: true,
      description:
        'For writeMode MERGE: the columns that identify a row, by their names in the table or in the source. Required if the source has no key. Their values are never null, and no two rows of a load have the same values in all of them.',
    }),
  ),
}

export const AnonymousAccess = Type.Object(
  { metadata: Type.Boolean(), data: Type.Boolean() },
  { ...noUnknownFields, title: 'AnonymousAccess' },
)

export const AnonymousAccessBody = Type.Object(
  { metadata: Type.Optional(Type.Boolean()), data: Type.Optional(Type.Boolean()) },
  { ...noUnknownFields, title: 'AnonymousAccessBody', description: 'Absent fields mean false.' },
)

const SqlStatements = Type.Array(
  Type.Object(
    {
      description: Type.Optional(LongText),
      statement: requiredBecause(Type.String({ minLength: 1, maxLength: 100_000 }), 'it is the statement to run'),
    },
    noUnknownFields,
  ),
  { maxItems: 100 },
)

const SqlTransformation = Type.Object({ sqlStatements: SqlStatements }, { ...noUnknownFields, title: 'Transformation' })
const TransformationBody = Type.Object(
  { sqlStatements: Type.Optional(SqlStatements) },
  { ...noUnknownFields, title: 'TransformationBody' },
)

const describedFields = {
  description: Type.Optional(LongText),
  owner: Type.Optional(SingleLineText),
  url: Type.Optional(UrlOrEmpty),
  reference: Type.Optional(LongText),
  source: Type.Optional(LongText),
  termsOfUse: Type.Optional(LongText),
  tags: Type.Optional(TagList),
}

const pipelineFields = {
  ...namedAndDescribed,
  ...describedFields,
  schemaChanges: Type.Optional(SchemaChange),
  ...writeFields,
}

export const baseFields = {
  ...pipelineFields,
  transformation: Type.Optional(TransformationBody),
  ...scheduledBody,
  /** The checks that loaded rows must pass before they are published, that is, before readers see them. */
  dataQualityCheckGroup: Type.Optional(Type.Union([ObjectReference, Type.Null()])),
  anonymousAccess: Type.Optional(AnonymousAccessBody),
  access: Type.Optional(AccessPart),
  dataWarehouseTarget: Object.assign(
    bodyOf(
      {
        schema: Type.Object({ id: Uid }, { title: 'SchemaReference', maxProperties: 200 }),
        /** The name of the target table. Default: derived from the pipeline's name. */
        tableName: Type.Optional(WarehouseName),
      },
      { stagingTableName: SingleLineText, tableSchema: SingleLineText },
    ),
    { title: 'DataWarehouseTargetBody' },
  ),
}

/** Response fields that a body may contain and that are ignored. */
export const baseIgnored = [
  'client',
  ...scheduledIgnored,
  'typeName',
  'typeKey',
  'dataWarehouseTargetSchemaName',
  'dataWarehouseTargetTableName',
  'dataPipelineSourceName',
  'displayDescription',
  'tagString',
  'dataDownload',
]

/**
 * Returns the schema of a request body with a source, for a preview or test before the pipeline is saved. `fields` are
 * the fields of the source. `id` is the saved pipeline from which the file or secrets are used. The body may also
 * contain all other fields of a pipeline, so that a form can be sent unchanged; they and `ignoredFields` are ignored.
 */
export function sourceBody<Fields extends TProperties>(fields: Fields, ignoredFields: readonly string[] = []) {
  const readFields = {
    ...fields,
    id: Type.Optional(Uid),
    ...writeFields,
    rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Number of rows. Default: 100.' })),
  }
  const otherPipelineFields = Object.keys(baseFields).filter((name) => !Object.hasOwn(writeFields, name))
  return defineRequestBody(readFields, [...otherPipelineFields, ...baseIgnored, ...ignoredFields])
}

export const baseResponse = {
  ...recordFields,
  ...authorFields,
  ...permittedFields,
  client: SingleLineText,
  ...pipelineFields,
  transformation: Type.Optional(SqlTransformation),
  ...scheduledResponse,
  dataQualityCheckGroup: Type.Optional(Type.Object({ id: Uid, name: SingleLineText }, noUnknownFields)),
  anonymousAccess: AnonymousAccess,
  access: ObjectAccess,
  dataWarehouseTarget: Type.Object(
    {
      schema: ReferencedSchema,
      tableName: SingleLineText,
      stagingTableName: Type.Optional({
        ...SingleLineText,
        description:
          'The table with the unpublished rows of a current run, or of a failed run whose rows are retained. Only the response for a single pipeline contains it.',
      }),
      tableSchema: SingleLineText,
    },
    { ...noUnknownFields, title: 'DataWarehouseTarget' },
  ),
  status: DataPipelineStatus,
  typeName: SingleLineText,
  typeKey: SingleLineText,
  dataWarehouseTargetSchemaName: SingleLineText,
  dataWarehouseTargetTableName: SingleLineText,
  dataPipelineSourceName: Type.Optional(SingleLineText),
  displayDescription: Type.Optional(LongText),
  tagString: Type.Optional(LongText),
  dataDownload: Type.Boolean({
    description: 'Whether the pipeline has loaded rows, which you can download with GET …/data?format=csv.',
  }),
}
