import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Timestamp, Uid } from '../field-types.ts'

/**
 * A client (organisation) that was deleted in the identity service, while the pipeline service still stores its data.
 */
export const DeletedClient = defineContract(
  'DeletedClient',
  Type.Object(
    {
      id: Uid,
      code: SingleLineText,
      name: SingleLineText,
      deleted: Timestamp,
      eraseAfter: { ...Timestamp, description: 'The time when maintenance erases the data. You can erase it earlier.' },
    },
    noUnknownFields,
  ),
)
export type DeletedClient = TypeOf<typeof DeletedClient>
