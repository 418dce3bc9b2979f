import {
  type ListQuery,
  type OperationSignature,
  type SearchRequest,
  type TabularResult,
  toSearchRequest,
} from '@sluice/contracts'
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { refusedSearch } from '../list-records.ts'
import { escapeLike } from '../search/text-patterns.ts'
import { type SearchPlan, buildSearchPlan } from '../search/search-plan.ts'
import type { Properties, Property } from '../search/properties.ts'
import { type ReportColumn, buildTabularResult } from './tabular-result.ts'

/** A row of the table `audit`, with its sort keys. */
export interface AuditRow {
  at: Date
  operation: string
  actor: string | null
  actor_name: string | null
  client: string | null
  object: string | null
  object_name: string | null
  outcome: string
  address: string
  request_id: string
  details: object
  page_keys: (string | null)[]
}

interface AuditLog {
  /** The operations of the service, by the noun of their ids. The report shows their summaries. */
  operations: Readonly<Record<string, object>>
  /** SQL for the object's name when the audit row was written, because the object may have been deleted since. */
  objectName: RawBuilder<string | null>
  /** The search property `at`. It is `required` (not null) if the service's indexes descend by time and then by id. */
  time: Property
}

interface AuditReader {
  db: Kysely<any>
  /** The conditions of the rows that the caller may see. No row matches two of them. */
  visible: readonly RawBuilder<SqlBool>[]
  subtitle: string
  readClientCodes(uids: string[]): Promise<ReadonlyMap<string, string>>
  /** Returns a function that looks up the names of actors, for rows that were written without names. */
  readUsernames?(uids: string[]): Promise<(uid: string) => string | undefined>
  /** Returns a function that looks up the current names of objects, for rows without a name in their details. */
  readObjectNames?(uids: string[]): Promise<(uid: string) => string | undefined>
}

/** SQL for the outcome. For a rejected sign-in, it is the reason. A rejected write leaves no audit row. */
const outcomeSql = sql<string>`coalesce(r.details ->> 'outcome', 'done')`

/** The maximum number of rows to count, because counting a log of several years takes longer than reading a page. */
const countedAtMost = 100_000

/**
 * The maximum characters of a row's details. Longer details are only shown on a page with one row, so that a page with
 * 1,000 rows stays small.
 */
const maxDetailsLength = 20_000

/** Returns the search of a service's audit log: its properties and its report. */
export function createAuditReport({ operations, objectName, time }: AuditLog) {
  const summaries: ReadonlyMap<string, string> = new Map(
    Object.values(operations)
      .flatMap((noun): OperationSignature[] => Object.values(noun))
      .map(({ id, summary }) => [id, summary]),
  )

  const properties = {
    at: time,
    operation: { column: 'r.operation', type: 'string' },
    username: { column: 'r.actor_name', type: 'string' },
    'user.id': { column: 'r.actor', type: 'uid' },
    'client.id': { column: 'r.client', type: 'uid' },
    'object.id': { column: 'r.object', type: 'string' },
    'object.name': { column: objectName, type: 'string' },
    outcome: { column: outcomeSql, type: 'string' },
    address: { column: 'r.address', type: 'string' },
    requestId: { column: 'r.request_id', type: 'string' },
  } as const satisfies Properties

  /** Parses an audit query. Throws a 400 problem. */
  function parseQuery(request: SearchRequest): SearchPlan {
    const query = (text: string) => {
      const like = `%${escapeLike(text)}%`
      return sql<boolean>`(r.actor_name ilike ${like} or r.operation ilike ${like} or r.object ilike ${like}
        or r.request_id ilike ${like} or r.address ilike ${like} or ${objectName} ilike ${like})`
    }
    try {
      return buildSearchPlan(request, {
        name: 'audit',
        properties,
        query,
        idColumn: 'r.id',
        idType: 'number',
        defaultOrder: ['at:desc'],
      })
    } catch (error) {
      throw refusedSearch(error, true)
    }
  }

  /**
   * Returns SQL for one page of the rows that match one of the conditions `visible`, and for one row more if another
   * page follows. Each part of the union reads only the rows that the page can need, in index order; an `or` would make
   * PostgreSQL read and sort all of an organisation's rows.
   */
  function selectPage(visible: AuditReader['visible'], plan: SearchPlan): RawBuilder<AuditRow> {
    const order = sql.join(plan.order)
    const position = plan.after ? [...plan.where, plan.after] : plan.where
    const queries = visible.map(
      (condition) => sql`(
        select r.* from audit as r where ${sql.join([condition, ...position], sql` and `)}
        order by ${order} limit ${plan.offset + plan.limit + 1})`,
    )
    const details =
      plan.limit === 1
        ? sql`r.details`
        : sql`case when length(r.details::text) <= ${maxDetailsLength} then r.details
          else jsonb_build_object('omitted', 'These details are long. Request this row alone, with pageSize=1.') end`
    return sql`
      select r.at, r.operation, r.actor, r.actor_name, r.client, r.object, r.address, r.request_id, ${details} as details,
        ${objectName} as object_name, ${outcomeSql} as outcome, array[${sql.join(plan.keys)}]::text[] as page_keys
      from (
        select r.* from (${sql.join(queries, sql` union all `)}) as r order by ${order} limit ${plan.limit + 1} offset ${plan.offset}
      ) as r
      order by ${order}`
  }

  /** Counts the rows of all pages, but not more than `countedAtMost`. */
  async function countRows({ db, visible }: AuditReader, { where }: SearchPlan): Promise<number> {
    const queries = visible.map(
      (condition) => sql`select from audit as r where ${sql.join([condition, ...where], sql` and `)}`,
    )
    const { rows } = await sql<{ total: number }>`
      select count(*) as total from (${sql.join(queries, sql` union all `)} limit ${countedAtMost}) as counted`.execute(
      db,
    )
    return rows[0]!.total
  }

  /** Returns one page of audit rows, in the requested order (default: newest first). */
  async function report(query: ListQuery, reader: AuditReader): Promise<TabularResult> {
    const plan = parseQuery(toSearchRequest(query))
    const [{ rows: auditRows }, total] = await Promise.all([
      selectPage(reader.visible, plan).execute(reader.db),
      plan.counted ? countRows(reader, plan) : undefined,
    ])
    const rows = auditRows.slice(0, plan.limit)
    const rowsWithoutActorName = rows.filter(({ actor_name }) => actor_name === null)
    const rowsWithoutObjectName = rows.filter(({ object_name }) => object_name === null)
    const distinctUids = (uids: (string | null)[]) => [...new Set(uids.filter((uid) => uid !== null))]
    const [clientCodes, usernameOf, objectNameOf] = await Promise.all([
      reader.readClientCodes(distinctUids(rows.map(({ client }) => client))),
      reader.readUsernames?.(distinctUids(rowsWithoutActorName.map(({ actor }) => actor))),
      reader.readObjectNames?.(distinctUids(rowsWithoutObjectName.map(({ object }) => object))),
    ])
    const { page, pageSize } = plan
    const hasMore = auditRows.length > rows.length
    return buildTabularResult(rows, {
      table: 'audit',
      title: 'Audit log',
      subtitle: reader.subtitle,
      columns: createAuditColumns({ summaries, clientCodes, usernameOf, objectNameOf }),
      pager: {
        page,
        pageSize,
        total,
        totalIsAtLeast: total === countedAtMost,
        nextCursor: hasMore ? plan.cursorAfter(rows.at(-1)!.page_keys) : undefined,
      },
    })
  }

  return { properties, parseQuery, selectPage, report }
}

type NameLookup = ((uid: string) => string | undefined) | undefined

interface AuditNames {
  summaries: ReadonlyMap<string, string>
  clientCodes: ReadonlyMap<string, string>
  usernameOf: NameLookup
  objectNameOf: NameLookup
}

const lookUpName = (lookup: NameLookup, uid: string | null): string | undefined =>
  uid === null ? undefined : lookup?.(uid)

/**
 * The columns of the report. The row number is left out, because its gaps would reveal the activity of other
 * organisations.
 */
const createAuditColumns = ({
  summaries,
  clientCodes,
  usernameOf,
  objectNameOf,
}: AuditNames): ReportColumn<AuditRow>[] => [
  { name: 'When', column: 'at', valueType: 'TIMESTAMPTZ', cell: ({ at }) => at.toISOString() },
  { name: 'User id', column: 'user.id', valueType: 'VARCHAR_50', id: true, cell: ({ actor }) => actor },
  {
    name: 'Who',
    column: 'username',
    valueType: 'VARCHAR_255',
    cell: ({ actor, actor_name }) => actor_name ?? lookUpName(usernameOf, actor),
  },
  { name: 'Client id', column: 'client.id', valueType: 'VARCHAR_50', id: true, cell: ({ client }) => client },
  {
    name: 'For client',
    column: 'client.code',
    valueType: 'VARCHAR_50',
    cell: ({ client }) => (client === null ? undefined : clientCodes.get(client)),
  },
  { name: 'Operation', column: 'operation', valueType: 'VARCHAR_255', cell: ({ operation }) => operation },
  {
    name: 'What',
    column: 'summary',
    valueType: 'VARCHAR_255',
    cell: ({ operation }) => summaries.get(operation) ?? operation,
  },
  { name: 'Object id', column: 'object.id', valueType: 'VARCHAR_255', id: true, cell: ({ object }) => object },
  {
    name: 'Object',
    column: 'object.name',
    valueType: 'VARCHAR_255',
    cell: ({ object, object_name }) => object_name ?? lookUpName(objectNameOf, object),
  },
  { name: 'Outcome', column: 'outcome', valueType: 'VARCHAR_255', cell: (row) => row.outcome },
  { name: 'From', column: 'address', valueType: 'VARCHAR_50', cell: ({ address }) => address },
  { name: 'Request', column: 'requestId', valueType: 'VARCHAR_255', cell: (row) => row.request_id },
  { name: 'Details', column: 'details', valueType: 'JSONB', cell: ({ details }) => details },
]
