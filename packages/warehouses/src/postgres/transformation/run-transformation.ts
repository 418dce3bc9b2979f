import { type ClientBase, type Pool, type PoolClient, Query } from 'pg'
import { tokensOf } from '../../sql-text/sql-tokens.ts'
import { type TransformationStatement, WarehouseProblem } from '../../warehouse.ts'
import { borrowConnection, type PostgresPools, withClient } from '../postgres-connections.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { RowCopies } from './dry-run-copies.ts'
import { listBlockingSnapshots } from '../copy/blocking-snapshots.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { isInTransaction } from '../queries/read-transaction.ts'
import { runStoppable, sessionOf } from '../queries/statement-watchdog.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import {
  type TransformationSchema,
  dropRunSchema,
  nameFirst,
  transformationFailed,
  createTransformationSchema,
} from './transformation-schema.ts'
import { asSentence } from '@sluice/process'

/** The time limit for all statements of a transformation together, in seconds. */
const transformationSeconds = 7_200

/**
 * See `Loader.transform`. An abort ends the current statement at the server within a second. With `dry`, all statements
 * run in one transaction, which is rolled back after its rows were copied. With `retain`, the staging tables survive a
 * failed statement.
 */
export async function runTransformation(
  pools: PostgresPools,
  loads: readonly PostgresStagedTable[],
  statements: readonly TransformationStatement[],
  signal: AbortSignal,
  { retain = false, dry = false } = {},
): Promise<void> {
  if (statements.length === 0 || loads.length === 0) return
  const { transactions, statements: otherConnections } = pools
  const transformationSchema = createTransformationSchema(loads)
  await using copies = new RowCopies(pools, loads)
  const replacedBytes = Math.max(...loads.map((load) => load.replacedBytes))
  // Never marked as reusable, because users' SQL ran on this connection and may have changed the session.
  using borrowed = await borrowConnection(transactions, signal)
  const { client } = borrowed
  try {
    await transformationSchema.open(client)
    const startedAt = performance.now()
    if (dry) await client.query('begin')
    for (const [index, statement] of statements.entries()) {
      const elapsedSeconds = (performance.now() - startedAt) / 1_000
      const seconds = Math.max(1, Math.round(transformationSeconds - elapsedSeconds))
      const runLimited: RunLimited = (limits, callback) =>
        runStoppable(otherConnections, client, { ...limits, replacedBytes, signal }, callback)
      await runStatement(client, transformationSchema, statement, { number: index + 1, seconds, dry }, runLimited)
    }
    const rowCounts = dry
      ? await endDryRun(client, otherConnections, transformationSchema, copies, signal)
      : await transformationSchema.close(client)
    // Rows that a transformation wrote are not frozen, so the publication waits for readers with older snapshots.
    const blockingSnapshots = await listBlockingSnapshots(client)
    for (const [index, load] of loads.entries()) {
      load.written = { ...load.written!, rows: rowCounts[index]!, frozen: false }
      load.transformed = true
      load.blockingSnapshots = [blockingSnapshots]
    }
  } catch (error) {
    // Closes the connection first, because its transaction may still use the schema.
    borrowed[Symbol.dispose]()
    const dropOptions = { process: sessionOf(client), rescue: retain ? loads : [] }
    await dropRunSchema(otherConnections, transformationSchema.schema, dropOptions).catch(() => {})
    signal.throwIfAborted()
    throw warehouseProblem(error, loads[0]!.problemContext)
  }
}

/**
 * Runs the deferred constraint checks of a commit, and sets a search path in which users' objects cannot hide catalogue
 * objects.
 */
const finishStatements = 'set constraints all immediate; close all; reset all; set search_path = pg_catalog, pg_temp'

/** Rolls back a dry run, after other connections have copied its rows. Returns the row count of each table. */
async function endDryRun(
  client: PoolClient,
  otherConnections: Pool,
  { schema, moveTables }: TransformationSchema,
  copies: RowCopies,
  signal: AbortSignal,
): Promise<number[]> {
  await client.query(finishStatements)
  await assertNothingWrittenElsewhere(client, otherConnections, { process: sessionOf(client)!, schema })
  const rowCounts = await moveTables(client)
  await copies.create(client, signal)
  await client.query('rollback')
  await dropRunSchema(otherConnections, schema)
  await copies.replaceStaging()
  return rowCounts
}

/** Runs `callback` within the time limit. `subject` is the statement's name in messages. */
type RunLimited = (limits: { seconds: number; subject: string }, callback: () => Promise<void>) => Promise<void>

/**
 * Runs one statement of a transformation. Throws TRANSFORMATION_FAILED if it fails, ends the transaction of a dry run,
 * or leaves a transaction open.
 */
async function runStatement(
  client: PoolClient,
  { path }: TransformationSchema,
  { statement, description }: TransformationStatement,
  { number, seconds, dry }: { number: number; seconds: number; dry: boolean },
  runLimited: RunLimited,
): Promise<void> {
  // This statement would commit the dry run, so it is skipped. In a real load, each statement has its own transaction
  // anyway.
  if (dry && endsTransaction(statement)) return
  const statementName = `Statement ${number} of the transformation${description ? ` (“${description.slice(0, 200)}”)` : ''}`
  // Sets the limits again for each statement, because an earlier one may have changed them for the session.
  await client.query(`set search_path = ${path}; set statement_timeout = '${seconds}s'; set lock_timeout = '30s'`)
  await runLimited({ seconds, subject: statementName }, () => executeStatement(client, statement)).catch(
    (error: unknown) => {
      throw statementProblem(error, statementName, statement)
    },
  )
  const isIdle = client.getTransactionStatus() === 'I'
  if (dry && !isInTransaction(client))
    throw transformationFailed(`${statementName} ends the transaction of the dry run. Remove COMMIT and ROLLBACK.`)
  if (!dry && !isIdle)
    throw transformationFailed(
      `${statementName} begins a transaction and does not end it. Remove BEGIN, because each statement runs in its own transaction.`,
    )
}

/** True if the statement is COMMIT or ROLLBACK, also in their other forms. */
function endsTransaction(statement: string): boolean {
  const [firstToken] = tokensOf(statement)
  return firstToken?.kind === 'word' && /^(commit|end|rollback|abort)$/i.test(firstToken.text)
}

/** Runs one statement and discards its result. The extended protocol rejects several statements in one text. */
function executeStatement(client: PoolClient, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = client.query(new Query({ text, rowMode: 'array', queryMode: 'extended' } as never))
    query.on('row', () => {})
    query.on('end', () => resolve())
    query.on('error', reject)
  })
}

/** Codes of problems that stopped a statement at a resource limit. */
const limitCodes = new Set(['TOO_MANY_LOCKS', 'WAREHOUSE_FULL'])
const copyFromStdin = /^\s*copy\b[\s\S]*\bfrom\s+stdin\b/i

/** Returns the problem for a failed statement. `statementName` is how the message names the statement. */
function statementProblem(error: unknown, statementName: string, statement: string): unknown {
  if (error instanceof WarehouseProblem && limitCodes.has(error.code))
    return transformationFailed(`${statementName} was stopped. ${error.message}`, error)
  const problem = warehouseProblem(error, { qualifiedName: statementName })
  if (!(problem instanceof WarehouseProblem) || problem.retryable || problem.code === 'DISK_FULL') return problem
  const { message, position, hint } = error as Partial<Record<'position' | 'hint', string>> & Error
  const code = sqlStateOf(error)
  if (copyFromStdin.test(statement))
    return transformationFailed(
      `${statementName} is COPY FROM STDIN, which is not available in a transformation. Use INSERT instead.`,
      error,
    )
  if (code === sqlStates.queryCanceled || problem.code === 'QUERY_TIMEOUT')
    return transformationFailed(
      `${statementName} was stopped because the transformation exceeded ${transformationSeconds / 3_600} hours. Process fewer rows or simplify it.`,
      error,
    )
  if (code === sqlStates.syntaxError && message.includes('multiple commands'))
    return transformationFailed(
      `${statementName} consists of several statements. Enter each as a separate statement.`,
      error,
    )
  const line = position ? ` in line ${statement.slice(0, Number(position) - 1).split('\n').length}` : ''
  const hintText = hint ? ` ${asSentence(hint)}` : ''
  return transformationFailed(`${statementName} failed${line}: ${asSentence(message)}${hintText}`, error)
}

/**
 * Selects the organisation's schemas, relations, functions and types. Excludes row types and array types, which are
 * created together with their table or type.
 */
const clientObjectsQuery = `
  select oid::text, name from (
    select oid, nspname, quote_ident(nspname) as name from pg_namespace
    union all
    select c.oid, nspname, format('%I.%I', nspname, relname) from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    union all
    select p.oid, nspname, format('%I.%I', nspname, proname) from pg_proc p join pg_namespace n on n.oid = pronamespace
    union all
    select t.oid, nspname, format('%I.%I', nspname, typname) from pg_type t join pg_namespace n on n.oid = typnamespace
    where typtype in ('d', 'e', 'r') or exists (select from pg_class c where c.oid = typrelid and relkind = 'c')
  ) o where nspname !~ '^(pg_|sluice_|sluice$|information_schema$)'`

/**
 * Selects the committed relations outside schema $2 that session $1 has locked for a change. A transaction holds such
 * locks until it ends.
 */
const changedRelationsQuery = `
  select distinct format('%I.%I', nspname, relname) as name
  from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = relnamespace
  where l.pid = $1 and l.locktype = 'relation' and relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    and l.database = (select oid from pg_database where datname = current_database())
    and l.mode <> all ('{AccessShareLock,RowShareLock}') and nspname <> $2 and nspname !~ '^pg_'`

/**
 * Throws TRANSFORMATION_FAILED if the open transaction of `client` wrote to a relation outside `schema`, or created a
 * schema, relation, function or type there. Ignores other changes, such as grants and comments, because the caller
 * rolls the transaction back. Detects created objects by comparison with another connection, which does not see
 * uncommitted objects.
 */
async function assertNothingWrittenElsewhere(
  client: ClientBase,
  otherConnections: Pool,
  { process, schema }: { process: number; schema: string },
): Promise<void> {
  const { rows: objects } = await client.query<{ oid: string; name: string }>(clientObjectsQuery)
  const names = await withClient(otherConnections, undefined, async (otherClient) => {
    const { rows: committedObjects } = await otherClient.query<{ oid: string }>(clientObjectsQuery)
    const committedOids = new Set(committedObjects.map(({ oid }) => oid))
    const createdObjects = objects.filter(({ oid }) => !committedOids.has(oid))
    const { rows: changedRelations } = await otherClient.query<{ name: string }>(changedRelationsQuery, [
      process,
      schema,
    ])
    return [...changedRelations, ...createdObjects].map(({ name }) => name)
  })
  if (names.length === 0) return
  const changedNames = [...new Set(names)].toSorted()
  throw transformationFailed(
    `The transformation also changes ${nameFirst(changedNames)}, so the dry run was rolled back. In a dry run, statements may only change the loaded rows.`,
  )
}
