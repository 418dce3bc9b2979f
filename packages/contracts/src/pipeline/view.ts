import { Type } from 'typebox'
import { ObjectAccess, AccessPart } from '../object-access.ts'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  authorFields,
  defineRequestBody,
  bodyOf,
  SingleLineText,
  UrlOrEmpty,
  namedAndDescribed,
  permittedFields,
  recordFields,
  TagList,
  LongText,
  Uid,
  WarehouseName,
  NonNegativeInteger,
} from '../field-types.ts'
import { scheduledBody, scheduledIgnored, scheduledResponse } from '../schedule.ts'
import { AnonymousAccess, AnonymousAccessBody } from './data-pipeline/base-fields.ts'
import { RunStatus, runStatuses } from './run.ts'
import { ReferencedSchema } from './schema.ts'

const ViewQuery = Type.String({
  minLength: 1,
  maxLength: 100_000,
  examples: ['select region, sum(cases) as cases from cases group by region'],
  description:
    'One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view.',
})

const SchemaReference = Type.Object({ id: Uid }, { title: 'SchemaReference', maxProperties: 200 })

const ViewName = (description: string) => Type.Optional({ ...WarehouseName, description })

const viewFields = {
  ...namedAndDescribed,
  description: Type.Optional(LongText),
  tags: Type.Optional(TagList),
  query: ViewQuery,
  materialized: Type.Boolean({ description: 'Whether the rows of the view are stored, and refreshed by each run.' }),
}

const visualizationFields = {
  visualizationId: Type.Optional({
    ...NonNegativeInteger,
    description: 'The id of an external dashboard that shows the view. The service only stores it.',
  }),
  visualizationHref: Type.Optional({
    ...UrlOrEmpty,
    description: 'The address of an external dashboard that shows the view. The service only stores it.',
  }),
}

const viewStatus = Type.Enum([...runStatuses, 'PENDING'], {
  description:
    'PENDING: a table that the view reads does not exist yet. The view is built as soon as that table exists.',
})

const viewBodyFields = {
  ...viewFields,
  ...scheduledBody,
  schema: SchemaReference,
  dataWarehouseViewName: ViewName(
    'The name of the view in the warehouse. Default: derived from the name of this object.',
  ),
  // Wrapped in Optional again, because spreading an optional schema makes the field required.
  warehouseAViewName: Type.Optional({
    ...ViewName(
      'Alternative to dataWarehouseViewName. A new name in either field applies. Two different new names are rejected with 422.',
    ),
    deprecated: true,
  }),
  anonymousAccess: Type.Optional(AnonymousAccessBody),
  access: Type.Optional(AccessPart),
  /** The status of the last run, which the service accepts and ignores. */
  status: Type.Optional(
    Object.assign(
      bodyOf(visualizationFields, { ...RunStatus.properties, lastRunStatus: viewStatus, pendingReason: LongText }),
      {
        title: 'ViewStatusBody',
      },
    ),
  ),
}

const answeredNames = [
  'client',
  ...scheduledIgnored,
  'qualifiedDataWarehouseViewName',
  'displayDescription',
  'tagString',
] as const

export const ViewBody = defineContract('ViewBody', defineRequestBody(viewBodyFields, answeredNames))
export type ViewBody = TypeOf<typeof ViewBody>

/**
 * A view for a preview before it is saved. The service ignores the other fields of a view, so that a form can be sent
 * unchanged.
 */
export const ViewPreviewBody = defineContract(
  'ViewPreviewBody',
  defineRequestBody(
    {
      query: ViewQuery,
      schema: SchemaReference,
      rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Number of rows. Default: 100.' })),
    },
    [...Object.keys(viewBodyFields).filter((name) => name !== 'query' && name !== 'schema'), ...answeredNames],
  ),
)

export type ViewPreviewBody = TypeOf<typeof ViewPreviewBody>

const ViewStatus = Type.Object(
  {
    ...RunStatus.properties,
    lastRunStatus: viewStatus,
    pendingReason: Type.Optional({ ...LongText, description: 'For a pending view: the tables that it waits for.' }),
    ...visualizationFields,
  },
  { ...noUnknownFields, title: 'ViewStatus' },
)

export const View = defineContract(
  'View',
  Type.Object(
    {
      ...recordFields,
      ...authorFields,
      ...permittedFields,
      client: SingleLineText,
      ...viewFields,
      ...scheduledResponse,
      schema: ReferencedSchema,
      dataWarehouseViewName: SingleLineText,
      qualifiedDataWarehouseViewName: SingleLineText,
      warehouseAViewName: Type.String({ ...SingleLineText, deprecated: true }),
      status: ViewStatus,
      anonymousAccess: AnonymousAccess,
      access: ObjectAccess,
      displayDescription: Type.Optional(LongText),
      tagString: Type.Optional(LongText),
    },
    noUnknownFields,
  ),
)

export type View = TypeOf<typeof View>
