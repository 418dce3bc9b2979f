import { closed } from '../../contract.ts'
import { Type, type TProperties } from 'typebox'
import { Access, AccessPart } from '../../object-access.ts'
import {
  authored,
  body,
  bodyOf,
  Line,
  Link,
  namedAndDescribed,
  requiredBecause,
  recorded,
  Reference,
  Tags,
  Text,
  Uid,
  WarehouseName,
} from '../../field-types.ts'
import { scheduled, scheduledIgnored, scheduledResponse } from '../../schedule.ts'
import { DataPipelineStatus } from '../run.ts'
import { ReferencedSchema } from '../schema.ts'

export const schemaChanges = ['EVOLVE', 'IGNORE_NEW', 'FAIL', 'REPLACE'] as const
export type SchemaChanges = (typeof schemaChanges)[number]

const SchemaChange = Type.Enum([...schemaChanges], {
  description:
    'The policy for changed columns of the source. EVOLVE, the default, adds new columns, widens types and keeps removed columns without values. IGNORE_NEW does not load new columns. FAIL rejects every change. REPLACE gives the table the columns and types of each load.',
})

export const AnonymousAccess = Type.Object(
  { metadata: Type.Boolean(), data: Type.Boolean() },
  { ...closed, title: 'AnonymousAccess' },
)

export const AnonymousAccessBody = Type.Object(
  { metadata: Type.Optional(Type.Boolean()), data: Type.Optional(Type.Boolean()) },
  { ...closed, title: 'AnonymousAccessBody', description: 'Absent fields mean false.' },
)

const SqlStatements = Type.Array(
  Type.Object(
    {
      description: Type.Optional(Text),
      statement: requiredBecause(Type.String({ minLength: 1, maxLength: 100_000 }), 'it is the statement to run'),
    },
    closed,
  ),
  { maxItems: 100 },
)

const Transformation = Type.Object({ sqlStatements: SqlStatements }, { ...closed, title: 'Transformation' })
const TransformationBody = Type.Object(
  { sqlStatements: Type.Optional(SqlStatements) },
  { ...closed, title: 'TransformationBody' },
)

const describedFields = {
  description: Type.Optional(Text),
  owner: Type.Optional(Line),
  url: Type.Optional(Link),
  reference: Type.Optional(Text),
  source: Type.Optional(Text),
  termsOfUse: Type.Optional(Text),
  tags: Type.Optional(Tags),
}

const pipelineFields = {
  ...namedAndDescribed,
  ...describedFields,
  schemaChanges: Type.Optional(SchemaChange),
}

export const baseFields = {
  ...pipelineFields,
  transformation: Type.Optional(TransformationBody),
  ...scheduled,
  /** The checks that loaded rows must pass before the publication. */
  dataQualityCheckGroup: Type.Optional(Type.Union([Reference, Type.Null()])),
  anonymousAccess: Type.Optional(AnonymousAccessBody),
  access: Type.Optional(AccessPart),
  dataWarehouseTarget: Object.assign(
    bodyOf(
      {
        schema: Type.Object({ id: Uid }, { title: 'SchemaReference', maxProperties: 200 }),
        /** The name of the target table; derived from the name of the pipeline when absent. */
        tableName: Type.Optional(WarehouseName),
      },
      { stagingTableName: Line, tableSchema: Line },
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
 * Returns the schema of a source for a preview or test before the pipeline is saved. The service reads `fields`, and ignores all
 * other fields of a pipeline, so that a form can be sent unchanged. `id` is the saved pipeline whose file or secrets are used.
 */
export function sourceBody<Fields extends TProperties>(fields: Fields, more: readonly string[] = []) {
  return body(
    {
      ...fields,
      id: Type.Optional(Uid),
      rows: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 1_000, description: 'Number of rows; 100 when absent.' }),
      ),
    },
    [...Object.keys(baseFields), ...baseIgnored, ...more],
  )
}

export const baseResponse = {
  ...recorded,
  ...authored,
  client: Line,
  ...pipelineFields,
  transformation: Type.Optional(Transformation),
  ...scheduledResponse,
  dataQualityCheckGroup: Type.Optional(Type.Object({ id: Uid, name: Line }, closed)),
  anonymousAccess: AnonymousAccess,
  access: Access,
  dataWarehouseTarget: Type.Object(
    {
      schema: ReferencedSchema,
      tableName: Line,
      stagingTableName: Type.Optional({
        ...Line,
        description:
          'The table with the unpublished rows of a current run, or of a failed run whose rows are retained. Only the response for a single pipeline contains it.',
      }),
      tableSchema: Line,
    },
    { ...closed, title: 'DataWarehouseTarget' },
  ),
  status: DataPipelineStatus,
  typeName: Line,
  typeKey: Line,
  dataWarehouseTargetSchemaName: Line,
  dataWarehouseTargetTableName: Line,
  dataPipelineSourceName: Type.Optional(Line),
  displayDescription: Type.Optional(Text),
  tagString: Type.Optional(Text),
  dataDownload: Type.Boolean(),
}
