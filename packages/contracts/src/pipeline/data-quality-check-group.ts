import { Type } from 'typebox'
import { AccessPart } from '../access.ts'
import { closed, contract, type TypeOf } from '../contract.ts'
import { body, Reference } from '../named.ts'
import { labelled, labelledIgnored, labelledResponse, ReferencedCheck } from './data-quality-check.ts'

export const DataQualityCheckGroupBody = contract(
  'DataQualityCheckGroupBody',
  body(
    {
      ...labelled,
      /** In the order in which they are run. */
      dataQualityChecks: Type.Optional(Type.Array(Reference, { uniqueItems: true, maxItems: 200 })),
      access: Type.Optional(AccessPart),
    },
    labelledIgnored,
  ),
)
export type DataQualityCheckGroupBody = TypeOf<typeof DataQualityCheckGroupBody>

export const DataQualityCheckGroup = contract(
  'DataQualityCheckGroup',
  Type.Object({ ...labelledResponse, dataQualityChecks: Type.Array(ReferencedCheck, { maxItems: 200 }) }, closed),
)
export type DataQualityCheckGroup = TypeOf<typeof DataQualityCheckGroup>
