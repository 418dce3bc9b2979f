import { createHash } from 'node:crypto'
import type { TablePlace, WarehouseTable } from './catalog.ts'

export interface ViewDefinition extends TablePlace {
  /**
   * The view's permanent id. The warehouse stores it with the view, so that a user's own view of the same name is not
   * mistaken for it.
   */
  id: string
  /** A single SELECT, VALUES, TABLE or WITH … SELECT. Unqualified names resolve in the view's own schema. */
  query: string
  materialized: boolean
  /** True if the definition may replace another managed view of the same name, which a failed deletion left over. */
  takesOver?: boolean
  /** True to recreate the view even if its definition is unchanged, because its tables may have other columns now. */
  recreate?: boolean
}

/** The tables and views that a defined view reads, directly or through unmanaged views. */
export interface DefinedView {
  reads: TablePlace[]
}

export interface WarehouseView extends WarehouseTable {
  materialized: boolean
  /** False for a materialised view that was never filled. */
  populated: boolean
  /** The id and definition of a view that Sluice manages. Absent for a view that was created by hand. */
  managed?: { id: string; definition: string }
}

/** Creates, refreshes and drops the views of a warehouse. Everything runs as role `load`. */
export interface ViewStore {
  /**
   * Creates the view, or changes the view with this id in whatever schema it is, in one transaction. Readers see the
   * old or the new view, and dependent views are recreated if necessary. A materialised view is filled, unless `empty`
   * is set, which leaves that to a refresh. `seconds` limits each statement. Throws QUERY_FAILED with the server's
   * message, QUERY_TIMEOUT, RESULT_TOO_LARGE, VIEW_NAME_TAKEN, VIEW_READS_ITSELF, VIEWS_DEPEND and others; nothing has
   * changed then.
   */
  define(view: ViewDefinition, limits: { seconds: number; empty?: boolean }, signal: AbortSignal): Promise<DefinedView>
  /** Drops a view. Throws VIEWS_DEPEND if another relation reads it. Succeeds if the view does not exist. */
  drop(schema: string, name: string): Promise<void>
  /**
   * Refills a materialised view. Its readers wait only if it has no unique index. Returns its row count and its bytes
   * on disk.
   */
  refresh(schema: string, name: string, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
  find(schema: string, name: string): Promise<WarehouseView | undefined>
  /** Returns the tables and views that the view reads, in the form of `define`. Empty if the view does not exist. */
  listReads(schema: string, name: string): Promise<TablePlace[]>
  /** True if a view with this id exists in any schema. */
  isManaged(id: string): Promise<boolean>
  /** Returns the unmanaged views that read this table or view, as `schema.name`. */
  listUnmanagedReaders(schema: string, name: string): Promise<string[]>
}

/**
 * Returns a hash of a definition: 16 bytes of SHA-256. It covers the schema too, because unqualified names resolve in
 * it.
 */
export const definitionHash = ({
  schema,
  query,
  materialized,
}: Pick<ViewDefinition, 'schema' | 'query' | 'materialized'>): string =>
  createHash('sha256')
    .update(JSON.stringify([schema, materialized, query.trim()]))
    .digest()
    .subarray(0, 16)
    .toString('base64url')
