import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText } from '../field-types.ts'
import { databaseQuery } from './data-pipeline/database-query.ts'
import { bucketAccess, containerAccess } from './data-pipeline/sources/object-stores.ts'
import { functionAccess } from './data-pipeline/sources/function.ts'
import { RestApi } from './data-pipeline/sources/rest-api.ts'
import { spreadsheetAccess } from './data-pipeline/sources/spreadsheet.ts'
import { TargetLookupBody } from './destination.ts'

/** The maximum characters of an option's id, such as the key of an object in a store. */
export const maxKeyLength = 1024

/** The connection to a source for listing options. The type of the source determines the required fields. */
export const SourceLookupBody = defineContract(
  'SourceLookupBody',
  Type.Object(
    {
      jdbcSource: Type.Optional(databaseQuery.jdbcSource),
      functionSource: Type.Optional(functionAccess.requestSchema),
      restApi: Type.Optional(RestApi),
      objectStoreSource: Type.Optional(bucketAccess.requestSchema),
      blobStoreSource: Type.Optional({
        ...Type.Partial(containerAccess.requestSchema),
        ...noUnknownFields,
        title: 'BlobStoreLookupBody',
      }),
      /** Fields of Google Sheets. */
      spreadsheetSource: Type.Optional(spreadsheetAccess.requestSchema),
      /** Fields of other HTTP systems. */
      ...TargetLookupBody.properties,
      within: Type.Optional({
        ...SingleLineText,
        maxLength: maxKeyLength,
        description:
          'Lists the options inside this parent, such as the forms of a project or the objects of a folder. By default, the parent in the settings of the saved pipeline, or the root.',
      }),
    },
    noUnknownFields,
  ),
)
export type SourceLookupBody = TypeOf<typeof SourceLookupBody>

/** An option of a source, such as a form, that a pipeline can load. If the option is a table, `code` is its schema. */
export const LookedUp = defineContract(
  'LookedUp',
  Type.Object(
    {
      id: Type.String({ maxLength: maxKeyLength }),
      code: Type.String({ maxLength: 300 }),
      name: Type.String({ maxLength: 300 }),
    },
    noUnknownFields,
  ),
)
export type LookedUp = TypeOf<typeof LookedUp>
