import type { WriteMode } from '@sluice/contracts'
import type { Column } from '../src/warehouse.ts'
import { casesForEach } from './test-case-tables.ts'
import { columns, never, stage } from './row-fixtures.ts'
import { word } from './scratch-warehouse.ts'

/** Columns as `columns` has them, `keys` of which identify a row. */
export const keyed = (types: Record<string, string>, keys = ['id']): Column[] =>
  columns(types).map((column) => ({ ...column, primaryKey: keys.includes(column.name) }))
const two = keyed({ id: 'INTEGER', name: 'TEXT' })

interface Increment {
  shape?: Column[]
  run?: string
  attempt?: number
  mode?: WriteMode
  cursor?: unknown
  ours?: boolean
  signal?: AbortSignal
}

/** A table of cases for each test, into which increments are merged by `id`. */
export function mergedForEach() {
  const cases = casesForEach()
  const { scratch } = cases

  async function publish(
    rows: Parameters<typeof stage>[2],
    {
      shape = two,
      run = word('run'),
      attempt = 1,
      mode = 'MERGE',
      cursor,
      ours = true,
      signal = never,
    }: Increment = {},
  ) {
    const { table } = cases
    await using load = await stage(
      scratch.warehouse,
      { table, columns: shape, run, attempt, shape: { merging: mode !== 'REPLACE' } },
      rows,
    )
    const options = { mode, ...(cursor !== undefined && { cursors: { [table]: cursor } }) }
    return await scratch.warehouse.loader.publish([load], async () => ours, signal, options)
  }

  return {
    scratch,
    get table() {
      return cases.table
    },
    publish,
    found: cases.found,
    /** In an order of their own: a merge keeps none. */
    rowsOf: async () => (await cases.rowsOf()).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    /** What the rows are in: another one after a swap, the same after a merge in place. */
    async partition() {
      const { rows } = await scratch.superuser.query<{ name: string }>(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'health.${cases.table}'::regclass`,
      )
      return rows
    },
  }
}
