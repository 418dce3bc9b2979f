import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line } from '../named.ts'
import { databaseQuery } from './data-pipeline/database-query.ts'
import { functionAccess } from './data-pipeline/sources/function.ts'
import { spreadsheetAccess } from './data-pipeline/sources/spreadsheet.ts'
import { TargetLookupBody } from './destination.ts'

/** Connection of a source for a look-up. Required fields depend on its type. */
export const SourceLookupBody = contract(
  'SourceLookupBody',
  Type.Object(
    {
      jdbcSource: Type.Optional(databaseQuery.jdbcSource),
      functionSource: Type.Optional(functionAccess.given),
      /** `url` and `authToken` are sufficient alone. */
      spreadsheetSource: Type.Optional(spreadsheetAccess.given),
      /** Fields for HTTP systems. */
      ...TargetLookupBody.properties,
      within: Type.Optional({
        ...Line,
        description: 'For nested options, such as the forms of a project: the parent. Absent for a saved pipeline.',
      }),
    },
    closed,
  ),
)
export type SourceLookupBody = TypeOf<typeof SourceLookupBody>

/** An option that a source offers. For a table, the code is its schema. */
export const LookedUp = contract(
  'LookedUp',
  Type.Object(
    {
      id: Type.String({ maxLength: 600 }),
      code: Type.String({ maxLength: 300 }),
      name: Type.String({ maxLength: 300 }),
    },
    closed,
  ),
)
export type LookedUp = TypeOf<typeof LookedUp>
