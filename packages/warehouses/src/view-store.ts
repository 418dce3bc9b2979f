import { createHash } from 'node:crypto'
import type { TablePlace, WarehouseTable } from './catalog.ts'

export interface ViewDefinition extends TablePlace {
  /**
   * The view's permanent id. The warehouse stores it with the view, so that another user's view of the same name is not mistaken
   * for it.
   */
  id: string
  /** One SELECT, VALUES, TABLE or WITH … SELECT. Unqualified names resolve in the view's own schema. */
  query: string
  materialized: boolean
  /** If true, the definition may replace another managed view at its place, which was left over. */
  takesOver?: boolean
  /** If true, the view is recreated even if its definition is unchanged, because its tables may have other columns now. */
  recreate?: boolean
}

/** The dependencies of a defined view: tables and views, also those that it reads through unmanaged views. */
export interface DefinedView {
  reads: TablePlace[]
}

export interface WarehouseView extends WarehouseTable {
  materialized: boolean
  /** False for a materialised view that was never filled. */
  populated: boolean
  /** The id and definition of a managed view; absent for a view that was created manually. */
  managed?: { id: string; definition: string }
}

/** The views of a warehouse. Everything runs as role `load`. */
export interface ViewStore {
  /**
   * Creates the view, or changes the one with this id at any place, in one transaction: readers see the old view or the new one,
   * and dependent views are recreated if necessary. A materialised view is filled; `empty` leaves that to a refresh. `seconds` is
   * the limit for each statement. Throws QUERY_FAILED with the server's sentence, QUERY_TIMEOUT, RESULT_TOO_LARGE,
   * VIEW_NAME_TAKEN, VIEW_READS_ITSELF, VIEWS_DEPEND …; then nothing has changed.
   */
  define(view: ViewDefinition, limits: { seconds: number; empty?: boolean }, signal: AbortSignal): Promise<DefinedView>
  /** Throws VIEWS_DEPEND while another relation reads it. Succeeds if the view does not exist. */
  drop(schema: string, name: string): Promise<void>
  /** Refills a materialised view; its readers wait only if it has no unique index. Returns rows and bytes on disk. */
  refresh(schema: string, name: string, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
  find(schema: string, name: string): Promise<WarehouseView | undefined>
  /** Returns the view's dependencies, as `define` returned them; an empty list if the view does not exist. */
  listReads(schema: string, name: string): Promise<TablePlace[]>
  /** Returns whether a view with this id exists at any place. */
  isManaged(id: string): Promise<boolean>
  /** Returns the unmanaged views that read it, as `schema.name`. */
  listUnmanagedReaders(schema: string, name: string): Promise<string[]>
}

/** Returns a hash of a definition: sixteen bytes of SHA-256. The hash includes the schema, because unqualified names resolve in it. */
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
