import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from './contract.ts'

export const FieldViolation = Type.Object(
  { pointer: Type.String({ maxLength: 1000 }), detail: Type.String({ maxLength: 1000 }) },
  { additionalProperties: false, title: 'Violation' },
)

/** An RFC 9457 problem with a stable `code` and all violations. */
export const ProblemDocument = defineContract(
  'Problem',
  Type.Object(
    {
      type: Type.String({ maxLength: 200, description: 'urn:problem:<code>' }),
      title: Type.String({ maxLength: 200 }),
      status: Type.Integer({ minimum: 400, maximum: 599 }),
      detail: Type.Optional(Type.String({ maxLength: 2000 })),
      instance: Type.Optional(Type.String({ maxLength: 2000 })),
      code: Type.String({ maxLength: 100 }),
      requestId: Type.Optional(Type.String({ maxLength: 200 })),
      errors: Type.Optional(Type.Array(FieldViolation, { maxItems: 1000 })),
    },
    noUnknownFields,
  ),
)
export type ProblemDocument = TypeOf<typeof ProblemDocument>
export type FieldViolation = NonNullable<ProblemDocument['errors']>[number]
