import type { TablePlace, WarehouseColumn } from './catalog.ts'

/** Runs queries as role `read`, read-only, with limits of time, rows and bytes. */
export interface QueryRunner {
  /**
   * Runs a query through a cursor on its own connection. Three queries of a warehouse run concurrently; others wait up
   * to 15 seconds and then throw WAREHOUSE_BUSY. Repeated column names get a suffix. Throws SQL_NOT_ALLOWED (not a
   * single query), QUERY_FAILED (with the server's message and the position in the text), QUERY_TIMEOUT, ROW_TOO_LARGE,
   * RESULT_TOO_LARGE, TABLE_BUSY.
   */
  query(query: UserQuery, signal?: AbortSignal): Promise<QueryRows>
  /**
   * Runs the query and returns its result page by page, for pushes to another system. Only one page is in memory at a
   * time; an empty result has no page. All pages show the same data, however long they take, and loads are not blocked.
   */
  queryPages(query: UserQuery, pageRows: number, signal: AbortSignal): AsyncIterable<QueryRows>
  /** Reads a part of a table. `offset` and `limit` count rows, in the table's own order. */
  readTable(
    schema: string,
    table: string,
    page: { limit: number; offset: number },
    limits?: ReadLimits,
  ): Promise<QueryRows>
  /**
   * Starts reading all rows of a table, view or query as text, from one snapshot. Reads as fast as the consumer takes
   * the bytes. The read blocks publications of the tables until it ends, so the consumer must not wait for a user, and
   * must limit concurrent exports. Throws TABLE_MISSING and the errors of `query`, except those about sizes. Errors
   * after the first row are thrown by `bytes`.
   */
  exportRows(source: ExportSource, format: RowTextFormat, signal: AbortSignal): Promise<RowExport>
  /**
   * Finds an unqualified table name in the query that exists in several of its `schemas`. The first `preferredCount`
   * schemas take precedence: a name that exists in them is not ambiguous. Returns undefined if every name is
   * unambiguous. Plans the query without running it. Throws the errors of `query`.
   */
  findAmbiguousTable(query: UserQuery, preferredCount: number, signal: AbortSignal): Promise<AmbiguousTable | undefined>
  /** Plans a query at the server without running it. Throws the errors of `query`, and NOT_SUPPORTED_HERE. */
  explain(query: UserQuery, signal: AbortSignal): Promise<QueryPlan>
}

export interface QueryPlan {
  /** The plan as the server prints it, one step per line. */
  text: string
  /** The tables and views that the query reads, without duplicates. */
  reads: TablePlace[]
  /** The planner's estimate of the result's row count. Absent if the server has none. */
  estimatedRows?: number
}

/**
 * The table, view or query to export. The default time limit is 1,800 seconds, as for a push. A query may also limit
 * its `rows`.
 */
export type ExportSource =
  | { table: TablePlace; seconds?: number }
  | { query: Pick<UserQuery, 'text' | 'schemas' | 'limits' | 'toUserPosition'> }

/**
 * Text formats for rows.
 *
 * - CSV: RFC 4180 with a header of column names. NULL is an empty field, an empty text is `""`.
 * - EXCEL_CSV: opens by double click in an Excel with decimal commas. It has a byte order mark, semicolons, decimal
 *   commas, and an apostrophe before texts that Excel would run as formulas.
 * - NDJSON: one JSON object per row. Integers and decimals are JSON numbers with all their digits.
 */
export type RowTextFormat = 'CSV' | 'EXCEL_CSV' | 'NDJSON'

/** A running export. Disposing it also ends it at the server. */
export interface RowExport extends AsyncDisposable {
  columns: WarehouseColumn[]
  /**
   * The UTF-8 text in chunks of at most a few hundred kilobytes, which do not end at row boundaries. A chunk is valid
   * until the next one is requested. The header is a separate chunk.
   */
  bytes: AsyncIterable<Uint8Array>
  /** Returns the number of rows read until now. */
  rowCount(): number
}

/**
 * A value in API responses. It is a string if JavaScript cannot represent the value exactly (BIGINT, DECIMAL, dates).
 */
export type RowCell = string | number | boolean | null | object

export interface QueryRows {
  columns: WarehouseColumn[]
  rows: RowCell[][]
  /** True if the byte limit ended the page. The next page starts at `offset + rows.length`. */
  truncated: boolean
  /** For queries: true if the query has further rows, whichever limit ended the result. */
  more?: boolean
}

/**
 * Limits for reading a page. After `seconds` (default: 30), the read throws QUERY_TIMEOUT. An abort of `signal` also
 * ends the read at the server.
 */
export interface ReadLimits {
  seconds?: number
  signal?: AbortSignal
}

/** A query from a user: one SELECT, WITH … SELECT, VALUES or TABLE. */
export interface UserQuery {
  /** The SQL, with `$1`, `$2`, … as placeholders for `values`. */
  text: string
  values?: readonly (string | null)[]
  /** Indexes, from 0, of values that are texts even if they look like numbers. */
  texts?: ReadonlySet<number>
  /** The search path for unqualified names, in order. If empty, it contains only PostgreSQL's own schema. */
  schemas?: readonly string[]
  /**
   * Limits. Rows: 10,000 by default and at most; a query in pages has no limit for all its rows together. Bytes: 4 MiB
   * by default, at most 32 MiB, which is also the default for a page. Seconds at the server: 30 by default, 1,800 for
   * pages. `offset`: the number of rows to skip.
   */
  limits?: { rows?: number; bytes?: number; seconds?: number; offset?: number }
  /** Maps a position in `text` to a position in the text that the user wrote. Default: both texts are the same. */
  toUserPosition?(position: TextPosition): TextPosition
}

/**
 * Line and column of a position, from 1. The column counts characters; it is absent if the server reports only lines.
 */
export interface TextPosition {
  line: number
  column?: number
}

/** An unqualified table or view name that exists in several schemas. */
export interface AmbiguousTable {
  name: string
  /** The schemas that contain a table or view of this name, sorted. */
  schemas: string[]
}
