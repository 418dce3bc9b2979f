import { RemoteProblem, ServiceUnavailable } from '@sluice/client'
import { brokenConstraint, isUnavailable, SealProblem } from '@sluice/database'
import { Problem, problems } from '@sluice/http-server'
import { InvalidSetting } from '@sluice/connectors/settings/connector-definition'
import { SourceProblem } from '@sluice/row-stream'
import { VariableProblem } from '../variables/variable-problem.ts'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'
import { refusalTitle } from './problem-catalogue.ts'

/** Maps each database constraint to the JSON pointer and the message for its violation. */
const conflictByConstraint: Record<string, [pointer: string, detail: string]> = {
  schemas_client_name_key: ['/name', 'Another schema has this name.'],
  schemas_client_schema_name_key: ['/schemaName', 'Another schema has this name in the warehouse.'],
  warehouse_readers_client_name_key: ['/name', 'Another warehouse reader has this name.'],
  variables_client_name_key: ['/name', 'Another variable has this name.'],
  data_pipelines_client_name_key: ['/name', 'Another data pipeline has this name.'],
  data_pipelines_schema_table_key: ['/dataWarehouseTarget/tableName', 'Another data pipeline loads into this table.'],
  data_pipelines_quality_group_fkey: ['/', 'Data pipelines use this group as quality gate. Remove it from them first.'],
  destinations_client_name_key: ['/name', 'Another destination has this name.'],
  destinations_view_fkey: ['/', 'Destinations push this view. Delete or change them first.'],
  data_quality_checks_client_name_key: ['/name', 'Another data quality check has this name.'],
  data_quality_checks_client_code_key: ['/code', 'Another data quality check has this code.'],
  data_quality_check_groups_client_name_key: ['/name', 'Another data quality check group has this name.'],
  data_quality_group_checks_check_fkey: [
    '/',
    'This check belongs to one or more check groups. Remove it from these groups first.',
  ],
  views_client_name_key: ['/name', 'Another view has this name.'],
  views_schema_view_key: ['/dataWarehouseViewName', 'Another view has this name in the schema.'],
  views_schema_fkey: ['/', 'The schema contains views. Delete or move them first.'],
  data_pipelines_schema_fkey: ['/', 'Data pipelines load into this schema. Delete or change them first.'],
}

/** Converts known errors of this service to problems. Returns undefined for unexpected errors, which are bugs. */
export function translateDatabaseError(error: unknown): Problem | undefined {
  const violation = brokenConstraint(error)
  const conflict = violation && conflictByConstraint[violation.constraint]
  if (conflict) return problems.conflict(...conflict)
  if (error instanceof ServiceUnavailable && error.reason === 'malformed-answer') return createVersionProblem(error)
  // An error response of the identity service, for example for a wrong service secret, is not the caller's fault.
  if (error instanceof ServiceUnavailable || error instanceof RemoteProblem)
    return problems.unavailable('identity service', error)
  if (error instanceof InvalidSetting) return problems.refused(error.pointer, error.message)
  if (error instanceof SourceProblem) {
    const { message: detail } = error
    return new Problem(422, 'source-unreadable', 'The source cannot be read.', { detail, cause: error })
  }
  if (error instanceof VariableProblem) return createRefusal(error, 'A variable cannot be used like this.')
  if (error instanceof WarehouseProblem)
    return error.retryable ? problems.unavailable('warehouse', error) : createRefusal(error, refusalTitle(error.code))
  if (error instanceof SealProblem) return createMissingKeyProblem(error)
  if (isUnavailable(error)) return problems.unavailable('database', error)
  return undefined
}

/** Returns a problem with the code of the error in the form of the API: `QUERY_TIMEOUT` becomes `query-timeout`. */
const createRefusal = (error: VariableProblem | WarehouseProblem, title: string): Problem =>
  new Problem(422, error.code.toLowerCase().replaceAll('_', '-'), title, { detail: error.message, cause: error })

/** Returns the code of a `SourceProblem`; undefined for any other error. */
export const findSourceProblemCode = (error: unknown): string | undefined =>
  error instanceof SourceProblem ? error.code : undefined

/** If the error is a `SourceProblem`, throws a copy without its cause, in which `hide` has changed all sentences. */
export function throwIfSourceProblem(error: unknown, hide: (text: string) => string): void {
  if (!(error instanceof SourceProblem)) return
  const { code, sentence, advice } = error
  throw new SourceProblem(code, hide(sentence), {
    ...(advice && {
      advice: {
        pipeline: hide(advice.pipeline),
        ...(advice.dataset !== undefined && { dataset: hide(advice.dataset) }),
      },
    }),
  })
}

/**
 * Returns the problem for an identity service of another version. The log has the field that violates the contract. The
 * response omits it, because it may contain a name.
 */
const createVersionProblem = (cause: Error): Problem => {
  const unavailable = problems.unavailable('identity service', cause)
  return new Problem(503, unavailable.code, unavailable.title, {
    detail:
      'The response of the identity service is invalid. Ask the operator to run the same version of the identity and pipeline services.',
    headers: unavailable.headers,
    cause,
  })
}

/** Returns the problem for a missing encryption key. The log has the id of the key; the response omits it. */
const createMissingKeyProblem = (cause: SealProblem): Problem => {
  const { status, code, title, headers } = problems.unavailable('key', cause)
  const detail =
    'A stored password or token cannot be decrypted, because its key is missing. Ask the operator to add that key to SECRET_KEYS.'
  return new Problem(status, code, title, { detail, headers, cause })
}
