import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { body, Line, Text, Timestamp, Uid, Count } from '../field-types.ts'
import { QueryResult } from './table.ts'

const VariableName = Type.String({ minLength: 1, maxLength: 255, examples: ['country'] })
const VariableValue = Type.String({ minLength: 1, maxLength: 5000, examples: ['NO'] })

const RunVariableBody = contract(
  'RunVariableBody',
  body({ name: VariableName, secured: Type.Optional(Type.Boolean()), value: Type.Optional(VariableValue) }, [
    'client',
    'translations',
  ]),
)

/** A variable in a response. The value of a secured variable is omitted. */
const RunVariable = Type.Object(
  { name: VariableName, secured: Type.Boolean(), value: Type.Optional(VariableValue) },
  { ...closed, title: 'RunVariable' },
)

export const RunInput = contract(
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
    closed,
  ),
)
export type RunInput = TypeOf<typeof RunInput>

const checkStatuses = ['OK', 'FAILED', 'ERROR'] as const

export const CheckResult = contract(
  'CheckResult',
  Type.Object(
    {
      dataQualityCheckId: Uid,
      name: Line,
      status: Type.Enum([...checkStatuses], {
        description:
          'OK: the query returned no violations. FAILED: it returned violations. ERROR: the query could not be run.',
      }),
      message: Text,
      completedAt: Timestamp,
      /** The number of violations. Absent if the count takes too long. */
      violations: Type.Optional(Count),
      data: Type.Optional(QueryResult),
    },
    closed,
  ),
)
export type CheckResult = TypeOf<typeof CheckResult>

export const GroupResult = contract(
  'GroupResult',
  Type.Object(
    {
      name: Line,
      /** OK if all checks are OK, ERROR if at least one check could not be run, else FAILED. */
      status: Type.Enum([...checkStatuses]),
      message: Text,
      taskId: Uid,
      completedAt: Timestamp,
      variables: Type.Array(RunVariable, { maxItems: 100 }),
      results: Type.Array(CheckResult, { maxItems: 200 }),
    },
    closed,
  ),
)
export type GroupResult = TypeOf<typeof GroupResult>
