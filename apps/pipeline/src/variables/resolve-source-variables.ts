import { connectorTypes } from '@sluice/contracts/connector-types'
import type { SecretAddress } from '../secrets/encrypted-secrets.ts'
import { assertAddressUnchanged } from './assert-secret-address.ts'
import { assertVariablePlaces, insertVariablesIntoSql } from './insert-variables-into-sql.ts'
import { replaceVariables } from './replace-variables.ts'
import type { SqlLanguage } from './sql-syntax-rules.ts'
import type { Variables } from './variables.ts'

/** The SQL language of each pipeline type that has SQL queries. */
const languageByType: Readonly<Record<string, SqlLanguage>> = {
  [connectorTypes.sqlServer]: 'sql-server',
  [connectorTypes.mysql]: 'mysql',
  [connectorTypes.oracle]: 'oracle',
  [connectorTypes.postgres]: 'postgres',
  [connectorTypes.redshift]: 'redshift',
}

/** Returns the SQL language of a pipeline type; undefined for types without SQL queries. */
export const findSourceLanguage = (type: string): SqlLanguage | undefined =>
  Object.hasOwn(languageByType, type) ? languageByType[type] : undefined

interface SourceValues {
  type: string
  settings: unknown
  secrets: Readonly<Record<string, string>>
  secretAddress?: SecretAddress | undefined
}

/**
 * Replaces the variables in the settings and secrets of a source. In a database query, values become literals of that
 * database; in the path of a REST API, they are percent-encoded; elsewhere, they are inserted as text. Throws
 * `VariableProblem`, also if a changed variable would send the stored secrets to another address.
 */
export function fillVariables<Secrets extends Readonly<Record<string, string>>>(
  { type, settings, secrets, secretAddress }: SourceValues & { secrets: Secrets },
  variables: Variables,
): { settings: unknown; secrets: Secrets } {
  if (secretAddress) assertAddressUnchanged(secretAddress, variables)
  /** Undefined if the source is not a database. */
  const sqlLanguage = findSourceLanguage(type)
  const { sqlQuery, restApi, ...plainSettings } = settings as { sqlQuery?: unknown; restApi?: { path?: string } }
  const fillQuery = () =>
    sqlLanguage && typeof sqlQuery === 'string'
      ? insertVariablesIntoSql(sqlQuery, variables, sqlLanguage)
      : replaceVariables(sqlQuery, variables)
  const filledSettings = {
    ...(replaceVariables(plainSettings, variables) as object),
    ...(restApi && { restApi: fillRestApi(restApi, variables) }),
    ...(sqlQuery !== undefined && { sqlQuery: fillQuery() }),
  }
  return { settings: filledSettings, secrets: replaceVariables(secrets, variables) }
}

const fillRestApi = ({ path, ...plainSettings }: { path?: string }, variables: Variables): object => ({
  ...replaceVariables(plainSettings, variables),
  ...(path !== undefined && { path: replaceVariables(path, variables, encodePathPart) }),
})

/** Replace unpaired surrogates first, because `encodeURIComponent` throws for them. */
const encodePathPart = (value: string): string => encodeURIComponent(value.toWellFormed())

/** Throws `VariableProblem` if the query of a source contains a variable where variables are not allowed. */
export function assertSourceVariablePlaces(type: string, settings: unknown): void {
  const language = findSourceLanguage(type)
  const { sqlQuery } = (settings ?? {}) as { sqlQuery?: unknown }
  if (language && typeof sqlQuery === 'string') assertVariablePlaces(sqlQuery, language)
}
