import { Type } from 'typebox'
import { type TypeOf, noUnknownFields, defineContract } from '../../contract.ts'
import { NonNegativeInteger, Timestamp, Uid } from '../../field-types.ts'
import { UploadedFile } from './uploaded-file.ts'

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
          'Bytes that the service has stored. It is less than `length` until the file has replaced that of the pipeline.',
      },
      created: Timestamp,
      expires: { ...Timestamp, description: 'When the upload is removed, unless more bytes arrive before.' },
      /** Only of a finished upload: what a plain upload of the file would have returned. */
      file: Type.Optional(UploadedFile),
    },
    noUnknownFields,
  ),
)
export type ResumableUpload = TypeOf<typeof ResumableUpload>
