import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { body, Line, named, Tags, Text, Timestamp, Count } from '../named.ts'
import { RejectedRow, RunStatus } from './run.ts'
import { Table } from './table.ts'

/** The permanent name of a public dataset for all clients, which is also its table name. */
export const PublicDatasetKey = Type.String({
  minLength: 2,
  maxLength: 63,
  pattern: '^(?!pg_)[a-z][a-z0-9_]*$',
  examples: ['world_population'],
})

const fields = {
  name: named.name,
  description: Type.Optional(Text),
  owner: Type.Optional(Line),
  reference: Type.Optional(Text),
  source: Type.Optional(Text),
  termsOfUse: Type.Optional(Text),
}

/** Form fields of a public dataset upload. The file follows the fields. */
export const PublicDatasetForm = contract(
  'PublicDatasetForm',
  Type.Object(
    {
      key: PublicDatasetKey,
      ...fields,
      tags: Type.Optional(
        Type.String({ maxLength: 5_000, description: 'Separated by commas.', examples: ['people, world'] }),
      ),
      headerRow: Type.Optional(
        Type.Enum(['true', 'false'], { description: 'Whether the first row names the columns; true when absent.' }),
      ),
    },
    closed,
  ),
)
export type PublicDatasetForm = TypeOf<typeof PublicDatasetForm>

export const PublicDatasetBody = contract(
  'PublicDatasetBody',
  body(
    {
      /** The current key, because a dataset keeps its key. */
      key: PublicDatasetKey,
      ...fields,
      tags: Type.Optional(Tags),
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

export const PublicDatasetStatus = contract(
  'PublicDatasetStatus',
  Type.Object(
    {
      ...RunStatus.properties,
      message: Type.Optional({
        ...Text,
        description: 'The outcome of the last load and the next step. Only for the organisation of the dataset.',
      }),
      rowsRejected: Type.Optional({
        ...Count,
        description: 'Number of rows that the last load rejected. Only for the organisation of the dataset.',
      }),
      rejectedRows: Type.Optional(
        Type.Array(RejectedRow, {
          maxItems: 20,
          description: 'The first rejected rows, with the reasons. Absent in lists.',
        }),
      ),
    },
    closed,
  ),
)
export type PublicDatasetStatus = TypeOf<typeof PublicDatasetStatus>

/** An uploaded table for every PUBLIC_DATASET pipeline of every organisation. */
export const PublicDataset = contract(
  'PublicDataset',
  Type.Object(
    {
      key: PublicDatasetKey,
      lastUpdated: Timestamp,
      ...fields,
      tags: Tags,
      tagString: Type.Optional(Text),
      headerRow: Type.Boolean(),
      /** Absent in lists, and until the file is loaded. */
      table: Type.Optional(Table),
      /** Result of loading the file. */
      status: PublicDatasetStatus,
    },
    closed,
  ),
)
export type PublicDataset = TypeOf<typeof PublicDataset>

export const PublicDatasetUploadQuery = contract(
  'PublicDatasetUploadQuery',
  Type.Object(
    {
      wait: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 60,
          description: 'Seconds to wait for the load; 30 when absent. The load continues after this time.',
        }),
      ),
    },
    closed,
  ),
)
export type PublicDatasetUploadQuery = TypeOf<typeof PublicDatasetUploadQuery>

export const PublicDatasetFileQuery = contract(
  'PublicDatasetFileQuery',
  Type.Object(
    {
      ...PublicDatasetUploadQuery.properties,
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })),
      rebuild: Type.Optional(
        Type.Boolean({
          description:
            'The table gets its columns and types from this file only. Set it if a file with other columns was rejected and the new columns are intended.',
        }),
      ),
    },
    closed,
  ),
)
export type PublicDatasetFileQuery = TypeOf<typeof PublicDatasetFileQuery>
