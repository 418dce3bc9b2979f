import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  defineRequestBody,
  SingleLineText,
  namedFields,
  permittedFields,
  TagList,
  LongText,
  Timestamp,
  NonNegativeInteger,
} from '../field-types.ts'
import { RejectedRow, RunStatus } from './run.ts'
import { Table } from './table.ts'

/** The permanent key of a public dataset, which is also the name of its table. */
export const PublicDatasetKey = Type.String({
  minLength: 2,
  maxLength: 63,
  pattern: '^(?!pg_)[a-z][a-z0-9_]*$',
  examples: ['world_population'],
})

const datasetFields = {
  name: namedFields.name,
  description: Type.Optional(LongText),
  owner: Type.Optional(SingleLineText),
  reference: Type.Optional(LongText),
  source: Type.Optional(LongText),
  termsOfUse: Type.Optional(LongText),
}

export const PublicDatasetForm = defineContract(
  'PublicDatasetForm',
  Type.Object(
    {
      key: PublicDatasetKey,
      ...datasetFields,
      tags: Type.Optional(
        Type.String({ maxLength: 5_000, description: 'Tags, separated by commas.', examples: ['people, world'] }),
      ),
      headerRow: Type.Optional(
        Type.Enum(['true', 'false'], { description: 'Whether the first row names the columns. Default: true.' }),
      ),
    },
    noUnknownFields,
  ),
)
export type PublicDatasetForm = TypeOf<typeof PublicDatasetForm>

export const PublicDatasetBody = defineContract(
  'PublicDatasetBody',
  defineRequestBody(
    {
      /** The key of the dataset. It must equal the stored key, which cannot be changed. */
      key: PublicDatasetKey,
      ...datasetFields,
      tags: Type.Optional(TagList),
      headerRow: Type.Optional(
        Type.Boolean({
          description: 'Whether the first row contains the column names. A change loads the file again.',
        }),
      ),
    },
    ['table', 'tagString', 'status'],
  ),
)
export type PublicDatasetBody = TypeOf<typeof PublicDatasetBody>

export const PublicDatasetStatus = defineContract(
  'PublicDatasetStatus',
  Type.Object(
    {
      ...RunStatus.properties,
      message: Type.Optional({
        ...LongText,
        description:
          'The outcome of the last load and what to do next. Only members of the organisation of the dataset see it.',
      }),
      rowsRejected: Type.Optional({
        ...NonNegativeInteger,
        description:
          'Number of rows that the last load rejected. Only members of the organisation of the dataset see it.',
      }),
      rejectedRows: Type.Optional(
        Type.Array(RejectedRow, {
          maxItems: 20,
          description: 'The first rejected rows, with the reasons. Absent in lists.',
        }),
      ),
    },
    noUnknownFields,
  ),
)
export type PublicDatasetStatus = TypeOf<typeof PublicDatasetStatus>

/** An uploaded table that pipelines of type PUBLIC_DATASET in all organisations can load. */
export const PublicDataset = defineContract(
  'PublicDataset',
  Type.Object(
    {
      key: PublicDatasetKey,
      lastUpdated: Timestamp,
      ...permittedFields,
      ...datasetFields,
      tags: TagList,
      tagString: Type.Optional(LongText),
      headerRow: Type.Boolean(),
      /** Absent in lists, and until the file is loaded. */
      table: Type.Optional(Table),
      /** The result of loading the file. */
      status: PublicDatasetStatus,
    },
    noUnknownFields,
  ),
)
export type PublicDataset = TypeOf<typeof PublicDataset>

export const PublicDatasetUploadQuery = defineContract(
  'PublicDatasetUploadQuery',
  Type.Object(
    {
      wait: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 60,
          description: 'Seconds to wait for the load. The load continues after this time. Default: 30.',
        }),
      ),
    },
    noUnknownFields,
  ),
)
export type PublicDatasetUploadQuery = TypeOf<typeof PublicDatasetUploadQuery>

export const PublicDatasetFileQuery = defineContract(
  'PublicDatasetFileQuery',
  Type.Object(
    {
      ...PublicDatasetUploadQuery.properties,
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })),
      rebuild: Type.Optional(
        Type.Boolean({
          description:
            'If true, the table gets its columns and types from this file alone. Set it if the file was rejected because its columns have changed on purpose.',
        }),
      ),
    },
    noUnknownFields,
  ),
)
export type PublicDatasetFileQuery = TypeOf<typeof PublicDatasetFileQuery>
