import { createHash } from 'node:crypto'
import type { WarehouseTable } from './warehouse.ts'

/** Where a relation is, by names as they are in the warehouse. */
export interface TablePlace {
  schema: string
  name: string
}

/** A view that is to be. */
export interface ViewDefinition extends TablePlace {
  /** Whose it is, for good: kept in the warehouse beside it, so that nobody else's view of that name is taken for it. */
  id: string
  /** One SELECT, VALUES, TABLE or WITH … SELECT. Names without a schema are looked for in the view's own schema. */
  query: string
  materialized: boolean
  /** Whatever view of ours stands at its place is left over, and gives way. */
  takesOver?: boolean
  /** It is made anew also where its definition is the same, since its tables may have other columns now. */
  anew?: boolean
}

/** What a view has come to read: tables and views, through views that nobody manages. */
export interface DefinedView {
  reads: TablePlace[]
}

/** A view as it is. */
export interface WarehouseView extends WarehouseTable {
  materialized: boolean
  /** False for a materialised view that was never filled. */
  populated: boolean
  /** Whose view it is and by which definition; absent for one that was made by hand. */
  managed?: { id: string; definition: string }
}

/** Staging rows of a load: which run's they are. */
export interface StagingTable extends WarehouseTable {
  run: string
}

/** What a warehouse does with views, and how it lists what it has. Everything runs as role `load`. */
export interface WarehouseViews {
  /**
   * Makes the view, or changes the one with this id, wherever it is, in one transaction: readers see the old one or the new,
   * and what reads it is made anew where it has to be. A materialised view is filled; `empty` leaves that to a refresh.
   * `seconds` is the most that one statement may take. Throws QUERY_FAILED with the server's sentence, QUERY_TIMEOUT,
   * RESULT_TOO_LARGE, VIEW_NAME_TAKEN, VIEW_READS_ITSELF, VIEWS_DEPEND …; then nothing has changed.
   */
  defineView(
    view: ViewDefinition,
    limits: { seconds: number; empty?: boolean },
    signal: AbortSignal,
  ): Promise<DefinedView>
  /** Refuses with VIEWS_DEPEND while something reads it. One that is not there is dropped already. */
  dropView(schema: string, name: string): Promise<void>
  /** Fills a materialised view anew: its readers wait only where it has no unique index. Answers rows and bytes on disk. */
  refreshView(schema: string, name: string, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
  findView(schema: string, name: string): Promise<WarehouseView | undefined>
  /** What the view reads, as `defineView` answered it; nothing where there is no such view. */
  viewReads(schema: string, name: string): Promise<TablePlace[]>
  /** Whether there is a view with this id, wherever it is. */
  isManaged(id: string): Promise<boolean>
  /** Views that read it and have no manager, `schema.name` each. */
  viewsByHand(schema: string, name: string): Promise<string[]>
  /** Which tables and views there are in these schemas, by name; hidden ones, partitions and foreign tables are not among them. */
  relations(schemas: readonly string[]): Promise<TablePlace[]>
  /** Those of them that are there, with their columns. */
  findTables(places: readonly TablePlace[]): Promise<WarehouseTable[]>
  /**
   * The newest rows that wait to become this table, or that a failed run left. `rowCount` may be an estimate unless the rows are
   * `counted`, which takes as long as reading them.
   */
  findStaging(schema: string, table: string, options?: { counted?: boolean }): Promise<StagingTable | undefined>
}

/** Tells one definition from another, in sixteen bytes of SHA-256. The schema is in it, since names are looked for there. */
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
