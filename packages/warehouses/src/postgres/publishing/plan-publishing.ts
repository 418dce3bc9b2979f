import { sourceShapeAfterLoad, planLoad } from '../../shape/plan-load.ts'
import type { SourceShape } from '../../shape/previous-source-columns.ts'
import { type TablePlan, planTable } from '../../shape/plan-table.ts'
import { previousSourceShape } from '../postgres-catalog.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import type { PostgresShape, ShapeColumn } from '../table-shape.ts'
import { storedAs, typeRules } from '../column-types.ts'
import { escapeIdentifier } from 'pg'
import { type StagingColumn, columnComments, columnList } from '../staging-table-ddl.ts'

interface PublicationInputs {
  currentShape: PostgresShape | undefined
  staging: PostgresShape
  merging: boolean
}

/**
 * Plans the columns of the published table after the publication, and the record of the source's columns for the next
 * load. Throws the errors of `planLoad`.
 */
export function planPublication(
  load: PostgresStagedTable,
  { currentShape, staging, merging }: PublicationInputs,
): { table: TablePlan<TypedColumn>; sourceShape: SourceShape } {
  const previousShape = previousSourceShape(currentShape)
  const plan = planLoad(typeRules, previousShape, {
    target: load.target,
    columnFacts: load.columnFacts,
    sourceRows: load.written?.sourceRows,
    transformed: load.transformed,
    merging,
  })
  const filledColumns = columnsOf(staging).filter(
    ({ name }) => !load.filledColumns || load.filledColumns.includes(name),
  )
  const stagedColumns = filledColumns.map((column) => replanType(column, load.planned, plan.columns))
  const table = planTable(typeRules, currentShape && columnsOf(currentShape), stagedColumns, plan, { merging })
  const stagingTypes = new Map(columnsOf(staging).map(({ name, type }) => [name, type]))
  // An earlier call of `completeStaging` may already have added and widened columns of the staging table.
  const missingColumns = table.missing.filter(({ name }) => !stagingTypes.has(name))
  const retypedStagingColumns = table.columns.filter(
    ({ name, type }) => stagingTypes.has(name) && stagingTypes.get(name) !== type,
  )
  return {
    table: { ...table, missing: missingColumns, restaged: retypedStagingColumns },
    sourceShape: sourceShapeAfterLoad(load.target, previousShape, table.recordedColumns, load.reading),
  }
}

/** A staging column with Sluice's name of its type. */
export type TypedColumn = StagingColumn & ReturnType<typeof storedAs>

/** Adds Sluice's data type to each column of a shape. */
export const columnsOf = ({ columns }: { columns: readonly StagingColumn[] }): TypedColumn[] =>
  columns.map(({ name, label, type }) => ({ name, label, ...storedAs(type) }))

/**
 * Returns the statements that give a staging table all columns of the published table. They lock only the staging
 * table, so readers are not blocked.
 */
export function completeStaging(staging: string, { missing, restaged }: TablePlan<TypedColumn>): string[] {
  return [
    ...missing.map((column) => `alter table ${staging} add column ${columnList([column])}`),
    ...restaged.map(({ name, type }) => `alter table ${staging} alter column ${escapeIdentifier(name)} type ${type}`),
  ]
}

interface TableEvolution {
  /**
   * Statements for the published table. They run after the old partition is detached and before the new one is
   * attached.
   */
  tableStatements: string[]
  /**
   * True if the partition key is dropped or gets another type. PostgreSQL rejects such a change, so the empty parent
   * table must be recreated instead of running `tableStatements`.
   */
  rebuild: boolean
}

/**
 * Returns the column of a staging table with its newly planned type: another load may have widened the published table
 * since this load began. A type that a transformation set stays. `earlierPlan` is the plan at the start of this load.
 */
function replanType(
  column: TypedColumn,
  earlierPlan: readonly { name: string; type: string }[],
  newPlan: readonly TypedColumn[],
): TypedColumn {
  const isTypeOfLoad = earlierPlan.some(({ name, type }) => name === column.name && type === column.type)
  const plannedColumn = isTypeOfLoad ? newPlan.find(({ name }) => name === column.name) : undefined
  return plannedColumn ? { ...column, type: plannedColumn.type, dataType: plannedColumn.dataType } : column
}

/**
 * Returns the statements that change the parent table to its planned columns. `labelledColumns` are the columns with a
 * label from the source; only their labels are updated.
 */
export function planEvolution(
  table: string,
  currentShape: PostgresShape,
  plan: TablePlan<TypedColumn>,
  labelledColumns: readonly string[],
): TableEvolution {
  const liveColumns = new Map(currentShape.columns.map((column) => [column.name, column]))
  const isPartitionKey = (name: string) => liveColumns.get(name)?.partitionKey === true
  const needsRebuild = plan.dropped.some(isPartitionKey) || plan.retyped.some(({ name }) => isPartitionKey(name))
  const addedColumns = plan.columns.filter(({ name }) => !liveColumns.has(name))
  const relabelledColumns = plan.columns.filter(
    ({ name, label }) => isRelabelled(liveColumns.get(name), label) && labelledColumns.includes(name),
  )
  return {
    rebuild: needsRebuild,
    tableStatements: [
      ...plan.dropped.map((name) => `alter table ${table} drop column ${escapeIdentifier(name)}`),
      ...plan.retyped.map(({ name, type }) => {
        const column = escapeIdentifier(name)
        // These statements convert no values, because the parent table has no rows while its partition is detached.
        return `alter table ${table} alter column ${column} type ${type} using null::${type}`
      }),
      ...addedColumns.map((column) => `alter table ${table} add column ${columnList([column])}`),
      ...columnComments(table, addedColumns),
      ...columnComments(table, relabelledColumns),
    ],
  }
}

const isRelabelled = (before: ShapeColumn | undefined, label: string): boolean =>
  before !== undefined && before.label !== label

/**
 * Returns the statements that create a table for readers: a partitioned table with one default partition for all rows.
 * Swapping the partition publishes a load.
 */
export function createTable(table: string, columns: readonly StagingColumn[], readRole: string): string[] {
  // Prefers a text column as the partition key: the type text is never widened, and changing the key's type requires a
  // new parent table.
  const partitionKey = columns.find(({ type }) => type === 'text') ?? columns[0]!
  return [
    `create table ${table} (${columnList(columns)}) partition by list (${escapeIdentifier(partitionKey.name)})`,
    ...columnComments(table, columns),
    `grant select on ${table} to ${escapeIdentifier(readRole)}`,
  ]
}
