import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from './contract.ts'

/**
 * The response of an operation that reports an outcome. A failed outcome, such as a failed connection test, is still a
 * response with status 200.
 */
export const ResultEnvelope = defineContract(
  'ResultEnvelope',
  Type.Object(
    {
      status: Type.Enum(['OK', 'WARNING', 'ERROR']),
      httpStatus: Type.String({ maxLength: 100 }),
      httpStatusCode: Type.Integer({ minimum: 100, maximum: 599 }),
      statusCode: Type.Integer({ minimum: 0, maximum: 599 }),
      errorCode: Type.String({ maxLength: 100 }),
      message: Type.String({ maxLength: 2000 }),
      messageKey: Type.Optional(Type.String({ maxLength: 200 })),
      devMessage: Type.Optional(Type.String({ maxLength: 4000 })),
      data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    },
    noUnknownFields,
  ),
)
export type ResultEnvelope = TypeOf<typeof ResultEnvelope>
