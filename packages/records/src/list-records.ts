import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { type SearchRequest, hasRole } from '@sluice/contracts'
import { JsonResponse, type Caller, problems } from '@sluice/http-server'
import type { RecordDefinition } from './record-definition.ts'
import { buildPageHeaders } from './search/page-headers.ts'
import { escapeLike } from './search/text-patterns.ts'
import { type SearchPlan, buildSearchPlan } from './search/search-plan.ts'
import { clientVersion, canUseTotalsTable, createTotalsCache, sumTotals, totalsVersion } from './record-counts.ts'
import { InvalidSearch } from './search/invalid-search.ts'

interface RecordPage<Row> {
  rows: Row[]
  /** The number of rows on all pages. Undefined if the rows were not counted. */
  total: number | undefined
  /**
   * The version of the data for which the total was counted (see `createTotalsCache`). Undefined if the total is not
   * cached.
   */
  version: number | undefined
  /** The sort keys of the last row, if more rows follow. */
  lastKeys: (string | null)[] | undefined
}

/**
 * Returns the search function for a kind of record. It returns one page of the records that the caller may see, with
 * totals in headers.
 */
export function recordLister<Row, Resource, Context extends { caller: Caller }>(
  definition: RecordDefinition<Row, Resource, Context>,
  present: (rows: Row[], context: Context) => Promise<Resource[]>,
) {
  const from = sql`${sql.table(definition.table)} as r`
  const totals = createTotalsCache()

  /** `url` is the address of a GET request. A POST search gets the links of the equivalent GET request. */
  return async function search(
    db: Kysely<any>,
    context: Context,
    request: SearchRequest,
    url?: string,
  ): Promise<JsonResponse<Resource[]>> {
    const plan = planOf(request, context.caller, url !== undefined)
    const scope = definition.scope(context.caller, 'READ')
    const condition = sql.join<SqlBool>(
      [scope, ...(definition.only ? [definition.only.condition] : []), ...plan.where],
      sql` and `,
    )
    const { rows, total, lastKeys } = await pageWithTotal(db, plan, condition, versionFor(context.caller, scope))
    const headers = buildPageHeaders(
      {
        page: plan.page,
        pageSize: plan.pageSize,
        total,
        more: lastKeys !== undefined,
        cursor: lastKeys && plan.cursorAfter(lastKeys),
        byCursor: plan.after !== undefined,
      },
      url ?? addressOfList(request),
    )
    return new JsonResponse(await present(rows, context), headers)
  }

  /** Returns the address of the GET request that is equivalent to a search. */
  function addressOfList({ query, filter = [], order = [], rootJunction, paging }: SearchRequest): string {
    const { page, paging: paged, total } = paging
    const single = { query, rootJunction, page, paging: paged, total, ...definition.only?.query }
    const parameters: [string, string][] = [
      ...filter.map((term): [string, string] => ['filter', term]),
      ...order.map((term): [string, string] => ['order', term]),
      ...Object.entries(single).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      ),
    ]
    return `/api/v1${definition.path}?${new URLSearchParams(parameters).toString()}`
  }

  function planOf(request: SearchRequest, caller: Caller, byQuery: boolean): SearchPlan {
    const query = (text: string) => definition.matches(`%${escapeLike(text)}%`)
    const allowedProperties = Object.entries({ ...definition.properties, ...definition.propertiesOf?.(caller) }).filter(
      ([, { onlyFor }]) => !onlyFor || onlyFor.some((role) => hasRole(caller.roles, role)),
    )
    try {
      return buildSearchPlan(request, {
        name: `${definition.path} ${definition.only?.name ?? ''}`,
        properties: Object.fromEntries(allowedProperties),
        query,
        idColumn: 'r.uid',
        defaultOrder: ['name:iasc'],
      })
    } catch (error) {
      throw refusedSearch(error, byQuery)
    }
  }

  /**
   * Returns SQL for the version of the caller's records, or undefined if this kind of record does not count changes.
   */
  function versionFor({ client }: Caller, scope: RawBuilder<SqlBool>): RawBuilder<number> | undefined {
    if (definition.totalsTable) return totalsVersion(definition.totalsTable, scope)
    return definition.changes && clientVersion(definition.changes, client)
  }

  /** Returns the page and its total, both from one snapshot. Uses a cached total while the version is unchanged. */
  async function pageWithTotal(
    db: Kysely<any>,
    plan: SearchPlan,
    condition: RawBuilder<SqlBool>,
    version: RawBuilder<number> | undefined,
  ): Promise<RecordPage<Row>> {
    const noValue = sql<null>`null::bigint`
    if (!plan.counted) return readPage(db, plan, condition, { total: noValue, version: noValue })
    const { totalsTable } = definition
    if (totalsTable && canUseTotalsTable(definition, plan))
      return readPage(db, plan, condition, { total: sumTotals(totalsTable, condition), version: noValue })

    const total = countOf(plan, condition)
    if (!version || !totals.mayCacheTotal(definition, plan))
      return readPage(db, plan, condition, { total, version: noValue })
    const key = totals.keyOf(condition.compile(db))
    const cached = totals.find(key)
    if (cached) {
      // Counting is slow, so the page is first read without it. The page is read again, with a count, if the records
      // have changed since the cached count.
      const page = await readPage(db, plan, condition, { total: noValue, version })
      if (page.version === cached.version) return { ...page, total: cached.total }
    }
    const page = await readPage(db, plan, condition, { total, version })
    totals.store(key, page)
    return page
  }

  /** Returns the SQL expression of the total. A page that is not full needs no separate count. */
  function countOf({ limit, offset, after }: SearchPlan, condition: RawBuilder<SqlBool>): RawBuilder<number> {
    const count = sql<number>`(select count(*) from ${from} where ${condition})`
    if (after) return count
    const rowsOnPage = sql`(select count(*) from page)`
    const first = offset === 0 ? 0 : 1
    return sql`case when ${rowsOnPage} between ${first} and ${limit}::bigint then ${offset}::bigint + ${rowsOnPage} else ${count} end`
  }

  /** Reads one row more than the page size, to detect whether more rows follow. */
  async function readPage(
    db: Kysely<any>,
    plan: SearchPlan,
    condition: RawBuilder<SqlBool>,
    { total, version }: { total: RawBuilder<number | null>; version: RawBuilder<number | null> },
  ): Promise<RecordPage<Row>> {
    const position = plan.after ? sql`${condition} and (${plan.after})` : condition
    const pageRows = await sql<{ page_total: number | null; page_version: number | null; page_keys: string[] | null }>`
      with page as materialized (
        select r.*, array[${sql.join(plan.keys)}]::text[] as page_keys from ${from} where ${position}
        order by ${sql.join(plan.order)} limit ${plan.limit + 1} offset ${plan.offset}
      )
      select page.*, facts.* from (select ${total} as page_total, ${version} as page_version) as facts left join page on true`.execute(
      db,
    )
    // For an empty page, the left join returns one row that contains only total and version.
    const rowsWithKeys = pageRows.rows.filter(({ page_keys }) => page_keys !== null)
    const rows = rowsWithKeys.slice(0, plan.limit)
    const { page_total, page_version } = pageRows.rows[0]!
    return {
      rows: rows.map(({ page_total: _total, page_version: _version, page_keys: _keys, ...row }) => row as Row),
      total: page_total ?? undefined,
      version: page_version ?? undefined,
      lastKeys: rowsWithKeys.length > rows.length ? rows.at(-1)!.page_keys! : undefined,
    }
  }
}

/**
 * Converts an `InvalidSearch` to a 400 problem. Returns any other error unchanged. `byQuery` is true if the search came
 * as query parameters, which have no `paging` object.
 */
export function refusedSearch(error: unknown, byQuery: boolean): unknown {
  if (!(error instanceof InvalidSearch)) return error
  const { violations } = error
  if (!byQuery) return problems.malformed(violations)
  return problems.malformed(
    violations.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/paging\//, '/'), detail })),
  )
}
