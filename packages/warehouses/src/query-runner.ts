import type { TablePlace, WarehouseColumn } from './catalog.ts'

/** Runs queries as role `read`, read-only, with limits of time, rows and bytes. */
export interface QueryRunner {
  /**
   * Runs a query through a cursor on its own connection. Three queries run concurrently; others wait 15 seconds and then throw
   * WAREHOUSE_BUSY. Column names are made unique. Throws SQL_NOT_ALLOWED (more than a query), QUERY_FAILED (the server's message
   * and the position in the text), QUERY_TIMEOUT, ROW_TOO_LARGE, RESULT_TOO_LARGE, TABLE_BUSY.
   */
  query(query: UserQuery, signal?: AbortSignal): Promise<QueryRows>
  /**
   * Runs the query page by page, for pushes: at most one page is in memory, and an empty result has no page. All pages show the
   * same data, however long they take, and loads are not blocked.
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
   * Starts reading all rows of a table, a view or a query, as one snapshot and as text. The server is read as fast as the consumer
   * takes the bytes, and the read blocks publications of the tables until it ends: the consumer must not wait for a user, and limits the number of exports. Throws
   * TABLE_MISSING and the errors of `query`, except those about sizes; errors after the first row are thrown by `bytes`.
   */
  exportRows(source: ExportSource, format: RowTextFormat, signal: AbortSignal): Promise<RowExport>
  /**
   * Returns an unqualified table name of the query that exists in several of its `schemas`; the first `preferred` schemas take
   * precedence, and a name that they contain is not ambiguous. Undefined if every name is unambiguous. Plans the query and does
   * not run it. Throws the errors of `query`.
   */
  findAmbiguousTable(query: UserQuery, preferred: number, signal: AbortSignal): Promise<AmbiguousTable | undefined>
  /** Makes the server plan a query, and does not run it. Throws the errors of `query`, and NOT_SUPPORTED_HERE. */
  explain(query: UserQuery, signal: AbortSignal): Promise<QueryPlan>
}

export interface QueryPlan {
  /** The plan as the server prints it, in lines. */
  text: string
  /** The tables and views that the query reads, each once. */
  reads: TablePlace[]
  /** The planner's estimate of the rows of the result; absent if the server has none. */
  estimatedRows?: number
}

/** The rows of an export. The default time limit is 1,800 seconds, as for a push; a query is also limited by its `rows`. */
export type ExportSource =
  | { table: TablePlace; seconds?: number }
  | { query: Pick<UserQuery, 'text' | 'schemas' | 'limits' | 'toOwnPosition'> }

/**
 * CSV: RFC 4180 with a header of column names; NULL is an empty field and an empty text is `""`. EXCEL_CSV: for a double click in
 * Excel where the decimal comma is used: byte order mark, semicolons, decimal commas, and an apostrophe before texts that Excel
 * would run as formulas. NDJSON: one object for each row; whole and decimal numbers are JSON numbers with all their digits.
 */
export type RowTextFormat = 'CSV' | 'EXCEL_CSV' | 'NDJSON'

/** A running export. Disposing ends it at the server. */
export interface RowExport extends AsyncDisposable {
  columns: WarehouseColumn[]
  /**
   * UTF-8, in chunks of at most a few hundred kilobytes that do not end at row boundaries. A chunk is valid until the next one is
   * requested. A header is a separate chunk.
   */
  bytes: AsyncIterable<Uint8Array>
  /** Rows that were read so far. */
  rowCount(): number
}

/** A cell in the form that clients receive: strings for values that JavaScript cannot represent exactly (BIGINT, DECIMAL, dates). */
export type RowCell = string | number | boolean | null | object

export interface QueryRows {
  columns: WarehouseColumn[]
  rows: RowCell[][]
  /** True if the byte limit ended the page; the next page starts at `offset + rows.length`. */
  truncated: boolean
  /** For queries: whether the query has more rows than these, whichever limit ended the result. */
  more?: boolean
}

/**
 * Limits for reading a page. After `seconds` (default: 30) the read throws QUERY_TIMEOUT. An abort of `signal` also ends it at
 * the server.
 */
export interface ReadLimits {
  seconds?: number
  signal?: AbortSignal
}

/** A query from a user: one SELECT, WITH … SELECT, VALUES or TABLE. */
export interface UserQuery {
  /** `$1`, `$2` … where `values` go. */
  text: string
  values?: readonly (string | null)[]
  /** Positions of values, from 0, that are texts even if they look like numbers. */
  texts?: ReadonlySet<number>
  /** The search path for unqualified names, in order; if empty, only PostgreSQL's own schema. */
  schemas?: readonly string[]
  /**
   * Rows: at most 10,000, which is the default; pages have no row limit in total. Bytes: 4 MiB by default, 32 MiB for a page,
   * which is the maximum. Seconds at the server: 30 by default, 1,800 for pages. `offset`: the number of rows to skip.
   */
  limits?: { rows?: number; bytes?: number; seconds?: number; offset?: number }
  /** Maps a position in `text` to the position in the text that the user wrote. Default: they are the same text. */
  toOwnPosition?(position: TextPosition): TextPosition
}

/** Line and column, from 1. The column counts characters; it is absent if the server reports lines only. */
export interface TextPosition {
  line: number
  column?: number
}

/** An unqualified name of a table or view that exists in several schemas. */
export interface AmbiguousTable {
  name: string
  /** Sorted by name. */
  schemas: string[]
}
