import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../field-types.ts'

/** A client that was deleted in the identity service and whose data the pipeline service still stores. */
export const DeletedClient = contract(
  'DeletedClient',
  Type.Object(
    {
      id: Uid,
      code: Line,
      name: Line,
      deleted: Timestamp,
      eraseAfter: { ...Timestamp, description: 'The time when maintenance erases the data. You can erase it earlier.' },
    },
    closed,
  ),
)
export type DeletedClient = TypeOf<typeof DeletedClient>
