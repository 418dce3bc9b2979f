import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { defineRequestBody, SingleLineText, LongText, Timestamp, Uid, NonNegativeInteger } from '../field-types.ts'
import { QueryResult } from './table.ts'

const VariableName = Type.String({ minLength: 1, maxLength: 255, examples: ['country'] })
const VariableValue = Type.String({ minLength: 1, maxLength: 5000, examples: ['NO'] })

const RunVariableBody = defineContract(
  'RunVariableBody',
  defineRequestBody(
    { name: VariableName, secured: Type.Optional(Type.Boolean()), value: Type.Optional(VariableValue) },
    ['client', 'translations'],
  ),
)

/** A variable in a response. The value of a secret variable is left out. */
const RunVariable = Type.Object(
  { name: VariableName, secured: Type.Boolean(), value: Type.Optional(VariableValue) },
  { ...noUnknownFields, title: 'RunVariable' },
)

export const RunInput = defineContract(
  'RunInput',
  Type.Object(
    {
      variables: Type.Optional(
        Type.Array(RunVariableBody, {
          maxItems: 100,
          description:
            'Values of variables for this run. Absent variables have their stored values. A name that is neither stored nor used by a query is rejected. Responses omit the values of secured variables.',
        }),
      ),
    },
    noUnknownFields,
  ),
)
export type RunInput = TypeOf<typeof RunInput>

const checkStatuses = ['OK', 'FAILED', 'ERROR'] as const

export const CheckResult = defineContract(
  'CheckResult',
  Type.Object(
    {
      dataQualityCheckId: Uid,
      name: SingleLineText,
      status: Type.Enum([...checkStatuses], {
        description:
          'OK: the query returned no violations. FAILED: it returned violations. ERROR: the query could not be run.',
      }),
      message: LongText,
      completedAt: Timestamp,
      /** The number of violations. Absent if counting takes too long. */
      violations: Type.Optional(NonNegativeInteger),
      data: Type.Optional(QueryResult),
    },
    noUnknownFields,
  ),
)
export type CheckResult = TypeOf<typeof CheckResult>

export const GroupResult = defineContract(
  'GroupResult',
  Type.Object(
    {
      name: SingleLineText,
      /** OK if all checks are OK, ERROR if at least one check could not run, otherwise FAILED. */
      status: Type.Enum([...checkStatuses]),
      message: LongText,
      taskId: Uid,
      completedAt: Timestamp,
      variables: Type.Array(RunVariable, { maxItems: 100 }),
      results: Type.Array(CheckResult, { maxItems: 200 }),
    },
    noUnknownFields,
  ),
)
export type GroupResult = TypeOf<typeof GroupResult>
