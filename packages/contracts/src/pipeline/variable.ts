import { Type } from 'typebox'
import { noUnknownFields, defineContract, type Contract, type TypeOf } from '../contract.ts'
import {
  authorFields,
  defineRequestBody,
  SingleLineText,
  namedAndDescribed,
  permittedFields,
  recordFields,
  secretStatusField,
} from '../field-types.ts'

const VariableValue = Type.String({ minLength: 1, maxLength: 5000, examples: ['2026'] })

const variableFields = {
  ...namedAndDescribed,
  // The name must be usable as `${name}` in a query.
  name: Type.String({
    maxLength: 255,
    pattern: '^[^{}\\p{Cc}]*$',
    allOf: [
      { type: 'string', pattern: '^\\S', maxLength: 255 },
      { type: 'string', pattern: '\\S$', maxLength: 255 },
    ],
    examples: ['REPORTING_YEAR'],
  }),
  secured: Type.Boolean({ description: 'Stored encrypted and never returned.' }),
}

export const VariableBody = defineContract(
  'VariableBody',
  defineRequestBody(
    {
      ...variableFields,
      value: Type.Optional({
        ...VariableValue,
        description:
          'If omitted, the stored value stays. Required for a new variable, and to make a secured variable unsecured.',
      }),
    },
    ['client', 'secretStatus'],
  ),
)
export type VariableBody = TypeOf<typeof VariableBody>

/** Variables to save. Each is identified by its name. */
export const VariableBodies = {
  type: 'array',
  title: 'VariableBodies',
  items: VariableBody,
  minItems: 1,
  maxItems: 1000,
} as Contract<VariableBody[]>

export const Variable = defineContract(
  'Variable',
  Type.Object(
    {
      ...recordFields,
      ...authorFields,
      ...permittedFields,
      client: SingleLineText,
      ...variableFields,
      value: Type.Optional({ ...VariableValue, description: 'Absent if the variable is secured.' }),
      secretStatus: Type.Optional({
        ...secretStatusField(['value']),
        description: 'Whether and since when the value of a secured variable is stored.',
      }),
    },
    noUnknownFields,
  ),
)
export type Variable = TypeOf<typeof Variable>
