import { type KeyRing, SealProblem } from '@sluice/database'
import { hasRole } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import { visibleTo } from '@sluice/records'
import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { variablesInSql } from '../../variables/bind-variables.ts'
import { namesVariables, variablesInSettings } from '../../variables/replace-variables.ts'
import { unsealTargetSecrets } from '../../destinations/push-target.ts'
import { findVariablesInSql } from '../../variables/insert-variables-into-sql.ts'
import { findSourceLanguage } from '../../variables/resolve-source-variables.ts'
import { getWarehouseLanguage } from '../../variables/sql-language.ts'
import { unsealSourceSecrets } from '../../secrets/sealed-secrets.ts'
import { describeReaders, maxNamedReaders } from '../objects/find-readers.ts'
import type { VariableRow } from './records.ts'

type VariableReference = Pick<VariableRow, 'client' | 'name'>

/** An object that uses the variable. Its name is shown only to callers who may read it. */
interface VariableUse {
  name: string
  shown: boolean
}

/** Pipelines per query. The search unseals their secrets. */
const definitionsPerBatch = 500

/**
 * Throws 409 if the variable is used: in queries of checks, in settings, secrets and transformations of data pipelines, or in secrets of
 * destinations. The message names the first of these objects that the caller may read, and ends with `advice`.
 */
export async function assertVariableUnused(
  trx: Transaction<DB>,
  variable: VariableReference,
  { pointer, advice, keyRing, caller }: { pointer: string; advice: string; keyRing: KeyRing; caller: Caller },
): Promise<void> {
  const checks = await findChecksUsing(trx, variable, caller)
  const pipelines = await findPipelinesUsing(trx, variable, keyRing, caller, maxNamedReaders - checks.length)
  const pushed = await findDestinationsUsing(
    trx,
    variable,
    keyRing,
    caller,
    maxNamedReaders - checks.length - pipelines.length,
  )
  const toNamedUse = (nouns: string) => (variableUse: VariableUse) => ({
    nouns,
    name: variableUse.name,
    isShown: variableUse.shown,
  })
  const users = describeReaders([
    ...checks.map(toNamedUse('data quality checks')),
    ...pipelines.map(toNamedUse('data pipelines')),
    ...pushed.map(toNamedUse('destinations')),
  ])
  if (users === undefined) return
  throw problems.conflict(pointer, `\${${variable.name}} is used by ${users}. ${advice}`)
}

async function findChecksUsing(
  trx: Transaction<DB>,
  { client, name }: VariableReference,
  caller: Caller,
): Promise<VariableUse[]> {
  const rows = await trx
    .selectFrom('data_quality_checks as r')
    .select(['r.name', 'r.query', shownTo(caller, 'ROLE_SEE_DATA_QUALITY_CHECK')])
    .where('r.client', '=', client)
    .where(sql<boolean>`strpos(r.query, ${name}) > 0 and strpos(r.query, '\${') > 0`)
    .orderBy('shown', 'desc')
    .orderBy('r.name')
    .execute()
  return rows.filter(({ query }) => variablesInSql(query).has(name)).slice(0, maxNamedReaders)
}

const shownTo = (caller: Caller, role: Parameters<typeof hasRole>[1]) =>
  sql<boolean>`${hasRole(caller.roles, role)} and coalesce(${visibleTo(caller, 'READ')}, false)`.as('shown')

/** Returns at most `limit` objects, oldest first. */
async function findPipelinesUsing(
  trx: Transaction<DB>,
  { client, name }: VariableReference,
  keyRing: KeyRing,
  caller: Caller,
  limit: number,
): Promise<VariableUse[]> {
  const uses: VariableUse[] = []
  for (let last = 0; uses.length < limit; ) {
    const rows = await trx
      .selectFrom('data_pipelines as r')
      .innerJoin('schemas as s', 's.id', 'r.schema_id')
      .select(['r.id', 'r.uid', 'r.name', 'r.type', 'r.settings', 'r.source_secrets', 'r.transformation'])
      .select(['s.provider_schema as provider', shownTo(caller, 'ROLE_SEE_DATA_PIPELINE')])
      .where('r.client', '=', client)
      .where('r.id', '>', last)
      .where(
        sql<boolean>`(strpos(r.settings::text, '\${') > 0 or strpos(r.transformation::text, '\${') > 0 or r.source_secrets is not null)`,
      )
      .orderBy('r.id')
      .limit(definitionsPerBatch)
      .execute()
    for (const row of rows) if (isUsed(row, name, keyRing)) uses.push(row)
    if (rows.length < definitionsPerBatch) break
    last = rows.at(-1)!.id
  }
  return uses.slice(0, limit)
}

interface PipelineRow {
  uid: string
  type: string
  settings: unknown
  source_secrets: string | null
  transformation: unknown
  provider: string
}

function isUsed(row: PipelineRow, name: string, keyRing: KeyRing): boolean {
  const { sqlQuery, ...settings } = row.settings as { sqlQuery?: unknown }
  const language = findSourceLanguage(row.type)
  const query =
    typeof sqlQuery === 'string' && language ? findVariablesInSql(sqlQuery, language) : variablesInSettings(sqlQuery)
  if (query.has(name)) return true
  const statements = (row.transformation as { sqlStatements?: { statement: string }[] } | null)?.sqlStatements ?? []
  if (statements.some(({ statement }) => findVariablesInSql(statement, getWarehouseLanguage(row.provider)).has(name)))
    return true
  const searched = [settings, openOrEmpty(() => unsealSourceSecrets(row, keyRing))]
  return namesVariables(...searched) && variablesInSettings(...searched).has(name)
}

/** Returns at most `limit` objects, oldest first. */
async function findDestinationsUsing(
  trx: Transaction<DB>,
  { client, name }: VariableReference,
  keyRing: KeyRing,
  caller: Caller,
  limit: number,
): Promise<VariableUse[]> {
  const rows = await trx
    .selectFrom('destinations as r')
    .select(['r.uid', 'r.name', 'r.target_secrets', shownTo(caller, 'ROLE_SEE_DESTINATION')])
    .where('r.client', '=', client)
    .where('r.target_secrets', 'is not', null)
    .orderBy('r.id')
    .execute()
  const destinations = rows.filter((row) =>
    variablesInSettings(openOrEmpty(() => unsealTargetSecrets(row, keyRing))).has(name),
  )
  return destinations.slice(0, Math.max(0, limit))
}

/** Returns no secrets if their key is missing, because a run cannot use them either. */
function openOrEmpty(open: () => object): object {
  try {
    return open()
  } catch (error) {
    if (error instanceof SealProblem) return {}
    throw error
  }
}
