import { Type } from 'typebox'
import { type TypeOf, closed, contract } from '../../contract.ts'
import { Count, Line, Text, Timestamp } from '../../field-types.ts'

export const UploadedFile = contract(
  'UploadedFile',
  Type.Object(
    {
      name: Line,
      /** Bytes. */
      size: Count,
      /** SHA-256 digest of the received bytes, in hexadecimal. */
      sha256: Type.String({ maxLength: 64 }),
      uploaded: Timestamp,
      uploadedBy: Type.Optional(Line),
      mismatch: Type.Optional({
        ...Text,
        description:
          'Only in the response to an upload: the columns that have changed since the last load and what a run will do, or the reason why a run would fail.',
      }),
      checkSkipped: Type.Optional({
        ...Text,
        description:
          'Only in the response to an upload: why the stored file was not checked. It may be damaged or have other columns.',
      }),
    },
    closed,
  ),
)
export type UploadedFile = TypeOf<typeof UploadedFile>

export const UploadQuery = contract(
  'UploadQuery',
  Type.Object(
    { name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })) },
    closed,
  ),
)
export type UploadQuery = TypeOf<typeof UploadQuery>
