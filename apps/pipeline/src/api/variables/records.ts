import { sql, type Selectable, type SqlBool } from 'kysely'
import { type Variable, pipelineOperations } from '@sluice/contracts'
import {
  type RefinedRow,
  type SharedColumns,
  type WithoutMay,
  createRecordRepository,
  translateRowProperty,
} from '@sluice/records'
import type { Variables } from '../../database.ts'
import { lookUpAuthors, recordedProperties } from '../record-fields.ts'
import { type SecretTimes, presentSecretStatus } from '../../secrets/secret-status.ts'
import type { RequestContext } from '../operation-context.ts'

export type VariableRow = RefinedRow<
  Selectable<Variables>,
  Pick<SharedColumns, 'translations'> & { secret_times: SecretTimes | null }
>

/** A caller who may see variables sees all variables of the organisation. Secured values cannot be searched. */
export const variableRecords = createRecordRepository<VariableRow, Variable, RequestContext>({
  noun: 'variable',
  table: 'variables',
  path: '/variables',
  properties: {
    ...recordedProperties,
    secured: { type: 'boolean', column: 'r.secured' },
    value: { type: 'string', column: 'r.value' },
  },
  matches: (like) => sql`r.name ilike ${like}`,
  scope: ({ client }) => sql<SqlBool>`r.client = ${client}`,
  signatures: pipelineOperations.variables,
  present: presentVariables,
})

/** Converts variables to resources. A secured variable has the status of its value instead of the value. */
async function presentVariables(
  rows: VariableRow[],
  { identity, request }: RequestContext,
): Promise<WithoutMay<Variable>[]> {
  const findAuthors = await lookUpAuthors(rows, identity)
  return rows.map((row) => ({
    id: row.uid,
    client: row.client,
    name: row.name,
    displayName: translateRowProperty(row, 'name', row.name, request.locales),
    translations: row.translations,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
    ...findAuthors(row),
    secured: row.secured,
    ...(row.secured
      ? { secretStatus: presentSecretStatus(['value'], row.secret_times ?? { value: null }, () => ({})) }
      : { value: row.value! }),
  }))
}
