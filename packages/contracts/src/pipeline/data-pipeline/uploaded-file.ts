import { Type } from 'typebox'
import { type TypeOf, noUnknownFields, defineContract } from '../../contract.ts'
import { NonNegativeInteger, SingleLineText, LongText, Timestamp, Uid } from '../../field-types.ts'

export const UploadedFile = defineContract(
  'UploadedFile',
  Type.Object(
    {
      name: SingleLineText,
      /** Bytes. */
      size: NonNegativeInteger,
      /** SHA-256 digest of the received bytes, in hexadecimal. */
      sha256: Type.String({ maxLength: 64 }),
      uploaded: Timestamp,
      uploadedBy: Type.Optional(SingleLineText),
      mismatch: Type.Optional({
        ...LongText,
        description:
          'Only in the response to an upload: the columns that have changed since the last load and what a run will do, or the reason why a run would fail.',
      }),
      checkSkipped: Type.Optional({
        ...LongText,
        description:
          'Only in the response to an upload: why the stored file was not checked. It may be damaged or have other columns.',
      }),
    },
    noUnknownFields,
  ),
)
export type UploadedFile = TypeOf<typeof UploadedFile>

export const UploadQuery = defineContract(
  'UploadQuery',
  Type.Object(
    { name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })) },
    noUnknownFields,
  ),
)
export type UploadQuery = TypeOf<typeof UploadQuery>

export const ResumableUpload = defineContract(
  'ResumableUpload',
  Type.Object(
    {
      id: Uid,
      name: Type.String({ minLength: 1, maxLength: 255, description: "The file's name." }),
      length: { ...NonNegativeInteger, description: 'Bytes of the whole file.' },
      received: {
        ...NonNegativeInteger,
        description:
          'The number of bytes that the service has stored. It is less than `length` until the file has replaced the previous file of the pipeline.',
      },
      created: Timestamp,
      createdBy: Type.Optional({ ...SingleLineText, description: 'The username of the user who started it.' }),
      expires: { ...Timestamp, description: 'When the upload is removed, unless more bytes arrive before.' },
      /** The same response as for a plain upload of the file. Absent until the upload is complete. */
      file: Type.Optional(UploadedFile),
    },
    noUnknownFields,
  ),
)
export type ResumableUpload = TypeOf<typeof ResumableUpload>
