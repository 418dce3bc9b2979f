import { type ReportHeader, type TabularResult, hasRole } from '@sluice/contracts'
import { sql } from 'kysely'
import type { IdentityRequestContext } from '../operation-context.ts'

/** A column of a report and the source of its cells. */
export interface ReportColumn<Row> extends Omit<ReportHeader, 'hidden' | 'meta'> {
  /** True for an id, which programs use and user interfaces hide. */
  id?: boolean
  cell(row: Row): unknown
}

export interface ReportPager {
  page: number
  pageSize: number
  /** The number of rows of all pages; undefined if they were not counted. */
  total?: number | undefined
  /** Whether the total is a lower bound. */
  totalIsAtLeast?: boolean
}

interface TabularReport<Row> {
  table: string
  title: string
  subtitle: string
  columns: readonly ReportColumn<Row>[]
  pager: ReportPager
  metaData?: TabularResult['metaData']
}

/** Returns rows as a page of a report. Absent values are null, so that every row is as wide as the headers. */
export function buildTabularResult<Row>(rows: readonly Row[], report: TabularReport<Row>): TabularResult {
  const { table, title, subtitle, columns, pager, metaData } = report
  const headers = columns.map(({ name, column, valueType, id = false }) => ({
    name,
    column,
    valueType,
    hidden: id,
    meta: id,
  }))
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row) ?? null))
  const isVisible = (_value: unknown, index: number) => !headers[index]!.hidden
  const visibleHeaders = headers.filter(isVisible)
  return {
    table,
    title,
    subtitle,
    metaData: { pager: presentPager(pager), ...metaData },
    rows: cells,
    visibleRows: cells.map((row) => row.filter(isVisible)),
    metaColumnIndexes: headers.flatMap(({ meta }, index) => (meta ? [index] : [])),
    headers,
    visibleHeaders,
    height: cells.length,
    width: headers.length,
    visibleWidth: visibleHeaders.length,
  }
}

const presentPager = ({ page, pageSize, total, totalIsAtLeast }: ReportPager) => ({
  page,
  pageSize,
  ...(total !== undefined && { total, pageCount: Math.max(1, Math.ceil(total / pageSize)) }),
  ...(totalIsAtLeast && { totalIsAtLeast }),
})

/** Returns the subtitle of a report: the name of the caller's client, or `All clients` for a super admin. */
export async function readScopeName({ db, caller }: IdentityRequestContext): Promise<string> {
  if (hasRole(caller.roles, 'ROLE_SUPER_ADMIN')) return 'All clients'
  const { rows } = await sql<{ name: string }>`select name from clients where uid = ${caller.client}`.execute(db)
  return rows[0]?.name ?? ''
}
