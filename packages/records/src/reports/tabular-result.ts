import type { ReportHeader, TabularResult } from '@sluice/contracts'

/** A column of a report, and the function that returns its values. */
export interface ReportColumn<Row> extends Omit<ReportHeader, 'hidden' | 'meta'> {
  /** True for an id, which programs use and user interfaces hide. */
  id?: boolean
  cell(row: Row): unknown
}

export interface ReportPager {
  page: number
  pageSize: number
  /** The number of rows on all pages. Undefined if they were not counted. */
  total?: number | undefined
  /** Whether the total is only a lower bound. */
  totalIsAtLeast?: boolean
  /** The cursor of the next page. Undefined on the last page, and for reports without cursors. */
  nextCursor?: string | undefined
}

interface TabularReport<Row> {
  table: string
  title: string
  subtitle: string
  columns: readonly ReportColumn<Row>[]
  pager: ReportPager
  metaData?: TabularResult['metaData']
}

/**
 * Returns rows as a page of a report: with all columns, and again with only the visible ones. Absent values become
 * null, so that every row has a value for each header.
 */
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

const presentPager = ({ page, pageSize, total, totalIsAtLeast, nextCursor }: ReportPager) => ({
  page,
  pageSize,
  ...(total !== undefined && { total, pageCount: Math.max(1, Math.ceil(total / pageSize)) }),
  ...(totalIsAtLeast && { totalIsAtLeast }),
  ...(nextCursor !== undefined && { nextCursor }),
})
