import type { Socket } from 'node:net'
import type { Client, QueryConfig } from 'pg'
import type { StoredType } from '@sluice/row-stream'
import {
  type ReadNote,
  type SourceStatement,
  type SessionParameters,
  type DescribedStatement,
  type DescribedColumn,
  type DatabaseEngine,
  type DatabaseSession,
  wrapQuery,
  assertHasColumns,
  buildStatement,
} from '../database-connector/database-session.ts'
import type { TupleSink } from '../database-connector/tuple-sink.ts'
import type { SourceClock } from '../database-connector/increments/cursor-value.ts'
import { buildWhere, postgresFilterSyntax, type RowFilter } from '../database-connector/increments/row-filter.ts'
import { CopyOut } from './copy-out.ts'
import {
  DescribeCommand,
  type PostgresField,
  type PostgresType,
  assertQueryRuns,
  postgresColumnType,
  readExpression,
} from './column-types.ts'
import { cancelSession, PostgresByteLimit, signIn } from './sign-in.ts'
import { classifyPostgresError } from './classify-postgres-error.ts'

export const engine: DatabaseEngine = {
  name: 'PostgreSQL',
  open: openPostgresSession,
  classifyError: classifyPostgresError,
}

/**
 * Session settings. They disable time-outs, so that a read can take any time. Settings that the server does not know
 * are skipped.
 */
const sessionSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '3',
  standard_conforming_strings: 'on',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  transaction_timeout: '0',
  // Makes the server end a query soon after its client has disconnected.
  client_connection_check_interval: '10s',
}

/**
 * Sets the settings of a JSON object that the server knows. `true` sets them until the end of the transaction. Some
 * names in `pg_settings` have upper-case letters.
 */
const applyKnownSettings = `
  select set_config(setting.name, setting.value, true)
  from json_each_text($1) as setting(name, value)
  where setting.name in (select lower(known_setting.name) from pg_settings as known_setting)`

/** Connects, signs in, starts the transaction and applies the session settings. */
async function openPostgresSession(parameters: SessionParameters): Promise<DatabaseSession> {
  const { client, socket } = await signIn(
    parameters,
    new PostgresByteLimit(parameters.config, engine.name),
    async (signedInClient) => {
      await signedInClient.query('begin isolation level repeatable read read only')
      await signedInClient.query(applyKnownSettings, [JSON.stringify(sessionSettings)])
    },
  )
  return new PostgresSession(client, socket, parameters)
}

interface ExplainOutput {
  Plan: { 'Plan Rows': number; 'Plan Width': number }
}

/** The SQL of a described query, with the type and label of each column. */
interface PostgresQuery {
  text: string
  types: readonly PostgresType[]
  labels: readonly string[]
}

class PostgresSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly #client: Client
  readonly #socket: Socket
  readonly #parameters: SessionParameters

  constructor(client: Client, socket: Socket, parameters: SessionParameters) {
    this.#parameters = parameters
    this.#client = client
    this.#socket = socket
  }

  received = (): number => this.#socket.bytesRead

  async describe(statement: SourceStatement): Promise<DescribedStatement> {
    const text = buildStatement(statement, (name) => this.#client.escapeIdentifier(name))
    // First describes the query alone, because only a single complete statement may be embedded in another query.
    const fields = await this.#describeFields(text)
    assertHasColumns(fields, statement)
    const types = await this.#readTypes(fields)
    await assertQueryRuns(this.#client, wrapQuery(text, ['*'], fields.length))
    const primaryKeyNames = 'name' in statement ? await this.#readPrimaryKey(statement) : new Set<string>()
    const columns = fields.map((field, index) => {
      const column: DescribedColumn = { label: field.name, ...postgresColumnType(types[index]!) }
      return primaryKeyNames.has(field.name) ? { ...column, primaryKey: true } : column
    })
    const estimatedBytes = await this.#estimateBytes(text, fields.length)
    const query = { text, types, labels: fields.map(({ name }) => name) }
    return {
      columns,
      notes: [],
      ...(estimatedBytes !== undefined && { estimatedBytes }),
      findLargest: (index, filter) => this.#findLargest(query, index, filter),
      read: (storedTypes, sink, filter) => this.#read(query, storedTypes, sink, filter),
    }
  }

  /**
   * Runs an operation within a savepoint. Locks on described tables survive a rollback to it, so no described table is
   * dropped before the transaction ends.
   */
  async withSavepoint<T>(operation: () => Promise<T>): Promise<T> {
    await this.#client.query('savepoint statement')
    try {
      const result = await operation()
      await this.#client.query('release savepoint statement')
      return result
    } catch (error) {
      // If the connection is lost, the rollback fails too. The first error is the cause, so it is thrown.
      await this.#client.query('rollback to savepoint statement').catch(() => {})
      throw error
    }
  }

  async #findLargest({ text, types }: PostgresQuery, index: number, filter: RowFilter): Promise<string | null> {
    const largestExpression = `max(c${index + 1})::text as largest`
    const query = wrapQuery(text, [largestExpression], types.length, buildWhere(filter, postgresFilterSyntax))
    const { rows } = await this.#client.query<{ largest: string | null }>(query)
    return rows[0]!.largest
  }

  /**
   * Returns the start time of the transaction, which is before its snapshot, in UTC and in the server's default time
   * zone.
   */
  async readClock(): Promise<SourceClock> {
    const { rows } = await this.#client.query<SourceClock>(
      `select (now() at time zone 'UTC')::text as utc,
         (now() at time zone coalesce((select reset_val from pg_settings where name = 'TimeZone'), 'UTC'))::text as local`,
    )
    return rows[0]!
  }

  async #read(
    { text, types, labels }: PostgresQuery,
    storedTypes: readonly StoredType[],
    sink: TupleSink,
    filter: RowFilter,
  ): Promise<ReadNote[]> {
    const expressions = storedTypes.map((storedType, index) =>
      readExpression(`c${index + 1}`, types[index]!, storedType),
    )
    const query = wrapQuery(text, expressions, types.length, buildWhere(filter, postgresFilterSyntax))
    const copy = new CopyOut(`copy (${query}) to stdout (format binary)`, labels, sink)
    this.#client.query(copy)
    await copy.done
    return []
  }

  cancel(): Promise<void> {
    return cancelSession(this.#parameters, this.#client)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
  }

  #describeFields(text: string): Promise<PostgresField[]> {
    const describeCommand = new DescribeCommand(text)
    this.#client.query(describeCommand)
    return describeCommand.fields
  }

  /**
   * Returns the planner's estimate of the result size in bytes. It only makes the warehouse prepare for many or few
   * rows, so a wrong estimate does no harm.
   */
  async #estimateBytes(query: string, columnCount: number): Promise<number | undefined> {
    await this.#client.query('savepoint estimate')
    try {
      const text = `explain (format json) ${wrapQuery(query, ['*'], columnCount)}`
      const { rows } = await this.#client.query({ text, queryMode: 'extended' } as QueryConfig)
      const plan = (rows[0]?.['QUERY PLAN'] as ExplainOutput[] | undefined)?.[0]?.Plan
      if (!plan) return undefined
      // In binary COPY format, a row has a field count of 2 bytes, and each field a length prefix of 4 bytes.
      const bytesPerRow = 2 + 4 * columnCount + plan['Plan Width']
      return plan['Plan Rows'] * bytesPerRow
    } catch {
      return undefined
    } finally {
      await this.#client.query('rollback to savepoint estimate')
    }
  }

  /** Returns the types of the fields, with their names in the catalogue. */
  async #readTypes(fields: readonly PostgresField[]): Promise<PostgresType[]> {
    const oids = [...new Set(fields.map(({ dataTypeID }) => dataTypeID))]
    const { rows } = await this.#client.query<{ oid: string; name: string; schema: string }>(
      `select t.oid::text, t.typname as name, n.nspname as schema
       from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
       where t.oid = any($1::oid[])`,
      [oids],
    )
    const typesByOid = new Map(rows.map(({ oid, name, schema }) => [Number(oid), { name, schema }]))
    return fields.map(({ dataTypeID, dataTypeModifier }) => ({
      ...(typesByOid.get(dataTypeID) ?? { name: 'unknown', schema: 'pg_catalog' }),
      modifier: dataTypeModifier,
    }))
  }

  async #readPrimaryKey({ schema, name }: Extract<SourceStatement, { name: string }>): Promise<Set<string>> {
    const schemaPrefix = schema ? `${this.#client.escapeIdentifier(schema)}.` : ''
    const { rows } = await this.#client.query<{ name: string }>(
      `select a.attname as name from pg_catalog.pg_index i
       join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
       where i.indrelid = $1::regclass and i.indisprimary`,
      [schemaPrefix + this.#client.escapeIdentifier(name)],
    )
    return new Set(rows.map((row) => row.name))
  }
}
