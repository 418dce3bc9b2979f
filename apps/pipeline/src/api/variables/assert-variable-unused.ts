import { type KeyRing, SealProblem } from '@sluice/database'
import { hasRole } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import { visibleTo } from '@sluice/records'
import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { findBoundVariables } from '../../variables/bind-variables.ts'
import { findVariablesInSettings } from '../../variables/replace-variables.ts'
import { unsealTargetSecrets } from '../../destinations/push-target.ts'
import { findVariablesInSql } from '../../variables/insert-variables-into-sql.ts'
import { findSourceLanguage } from '../../variables/resolve-source-variables.ts'
import { getWarehouseLanguage } from '../../variables/sql-syntax-rules.ts'
import { unsealSourceSecrets } from '../../secrets/encrypted-secrets.ts'
import { describeReaders, maxNamedReaders } from '../objects/find-dependent-objects.ts'
import type { VariableRow } from './records.ts'

type VariableReference = Pick<VariableRow, 'client' | 'name'>

/** An object that uses a variable. Messages contain its name only if the caller may read the object. */
interface VariableUse {
  name: string
  isShown: boolean
}

/** The first objects that use each variable, by the name of the variable. */
type UsesByName = Map<string, VariableUse[]>

/** All uses of an organisation's variables. */
interface VariableUses {
  checks: UsesByName
  pipelines: UsesByName
  destinations: UsesByName
}

/** Pipelines per query. The search for variables decrypts their secrets. */
const definitionsPerBatch = 500

/** Caches the uses during a transaction, so that renaming many variables reads and decrypts each object only once. */
const usesByTransaction = new WeakMap<Transaction<DB>, Promise<VariableUses>>()

interface UseContext {
  keyRing: KeyRing
  caller: Caller
}

/**
 * Throws 409 if the variable is used in queries of checks, in settings, secrets and transformations of data pipelines,
 * or in secrets of destinations. The message names the first of these objects that the caller may read, and ends with
 * `advice`. The uses are read at the first call in the transaction.
 */
export async function assertVariableUnused(
  trx: Transaction<DB>,
  variable: VariableReference,
  { pointer, advice, ...context }: { pointer: string; advice: string } & UseContext,
): Promise<void> {
  const cachedUses = usesByTransaction.get(trx) ?? readVariableUses(trx, variable.client, context)
  usesByTransaction.set(trx, cachedUses)
  const { checks, pipelines, destinations } = await cachedUses
  const toReaders = (nouns: string, uses: UsesByName) =>
    (uses.get(variable.name) ?? []).map(({ name, isShown }) => ({ nouns, name, isShown }))
  const readers = [
    ...toReaders('data quality checks', checks),
    ...toReaders('data pipelines', pipelines),
    ...toReaders('destinations', destinations),
  ]
  const readerList = describeReaders(readers.slice(0, maxNamedReaders))
  if (readerList === undefined) return
  throw problems.conflict(pointer, `\${${variable.name}} is used by ${readerList}. ${advice}`)
}

const readVariableUses = async (trx: Transaction<DB>, client: string, context: UseContext): Promise<VariableUses> => ({
  checks: await findUsesInChecks(trx, client, context),
  pipelines: await findUsesInPipelines(trx, client, context),
  destinations: await findUsesInDestinations(trx, client, context),
})

/** Adds an object to the uses of each variable in `variables`, up to the number of objects that a message names. */
/** Adds an object to the uses of each of these variables, at most `maxNamedReaders` per variable. */
function addUse(uses: UsesByName, { name, isShown }: VariableUse, variables: Iterable<string>): void {
  for (const variable of variables) {
    const list = uses.get(variable) ?? []
    if (list.length < maxNamedReaders) list.push({ name, isShown })
    uses.set(variable, list)
  }
}

/** Returns the uses of variables in checks. Checks that the caller may see come first. */
async function findUsesInChecks(trx: Transaction<DB>, client: string, { caller }: UseContext): Promise<UsesByName> {
  const rows = await trx
    .selectFrom('data_quality_checks as r')
    .select(['r.name', 'r.query', selectIsShown(caller, 'ROLE_SEE_DATA_QUALITY_CHECK')])
    .where('r.client', '=', client)
    .where(sql<boolean>`strpos(r.query, '\${') > 0`)
    .orderBy('isShown', 'desc')
    .orderBy('r.name')
    .execute()
  const uses: UsesByName = new Map()
  for (const row of rows) addUse(uses, row, findBoundVariables(row.query))
  return uses
}

const selectIsShown = (caller: Caller, role: Parameters<typeof hasRole>[1]) =>
  sql<boolean>`${hasRole(caller.roles, role)} and coalesce(${visibleTo(caller, 'READ')}, false)`.as('isShown')

/** Returns the uses of variables in pipelines, oldest pipelines first. */
async function findUsesInPipelines(
  trx: Transaction<DB>,
  client: string,
  { keyRing, caller }: UseContext,
): Promise<UsesByName> {
  const uses: UsesByName = new Map()
  let lastId = 0
  for (;;) {
    const rows = await trx
      .selectFrom('data_pipelines as r')
      .innerJoin('schemas as s', 's.id', 'r.schema_id')
      .select(['r.id', 'r.uid', 'r.name', 'r.type', 'r.settings', 'r.source_secrets', 'r.transformation'])
      .select(['s.provider_schema as provider', selectIsShown(caller, 'ROLE_SEE_DATA_PIPELINE')])
      .where('r.client', '=', client)
      .where('r.id', '>', lastId)
      .where(
        sql<boolean>`(strpos(r.settings::text, '\${') > 0 or strpos(r.transformation::text, '\${') > 0 or r.source_secrets is not null)`,
      )
      .orderBy('r.id')
      .limit(definitionsPerBatch)
      .execute()
    for (const row of rows) addUse(uses, row, findVariablesOfPipeline(row, keyRing))
    if (rows.length < definitionsPerBatch) return uses
    lastId = rows.at(-1)!.id
  }
}

interface PipelineRow {
  uid: string
  type: string
  settings: unknown
  source_secrets: string | null
  transformation: unknown
  provider: string
}

/** Returns the names of the variables in the settings, secrets, query and transformation of a pipeline. */
function findVariablesOfPipeline(row: PipelineRow, keyRing: KeyRing): Set<string> {
  const { sqlQuery, ...settings } = row.settings as { sqlQuery?: unknown }
  const sourceLanguage = findSourceLanguage(row.type)
  const isSql = typeof sqlQuery === 'string' && sourceLanguage !== undefined
  const queryVariables = isSql ? findVariablesInSql(sqlQuery, sourceLanguage) : findVariablesInSettings(sqlQuery)
  const secrets = unsealOrEmpty(() => unsealSourceSecrets(row, keyRing))
  const settingVariables = findVariablesInSettings(settings, secrets)
  const statements = (row.transformation as { sqlStatements?: { statement: string }[] } | null)?.sqlStatements ?? []
  const warehouseLanguage = getWarehouseLanguage(row.provider)
  const statementVariables = statements.flatMap(({ statement }) => [
    ...findVariablesInSql(statement, warehouseLanguage),
  ])
  return new Set([...queryVariables, ...settingVariables, ...statementVariables])
}

/** Returns the uses of variables in destinations, oldest destinations first. */
async function findUsesInDestinations(
  trx: Transaction<DB>,
  client: string,
  { keyRing, caller }: UseContext,
): Promise<UsesByName> {
  const rows = await trx
    .selectFrom('destinations as r')
    .select(['r.uid', 'r.name', 'r.target_secrets', selectIsShown(caller, 'ROLE_SEE_DESTINATION')])
    .where('r.client', '=', client)
    .where('r.target_secrets', 'is not', null)
    .orderBy('r.id')
    .execute()
  const uses: UsesByName = new Map()
  for (const row of rows)
    addUse(uses, row, findVariablesInSettings(unsealOrEmpty(() => unsealTargetSecrets(row, keyRing))))
  return uses
}

/**
 * Decrypts secrets. Returns an empty object if their encryption key is missing, because a run cannot use them either.
 */
function unsealOrEmpty(unseal: () => object): object {
  try {
    return unseal()
  } catch (error) {
    if (error instanceof SealProblem) return {}
    throw error
  }
}
