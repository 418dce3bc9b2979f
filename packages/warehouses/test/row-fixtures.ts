import { randomUUID } from 'node:crypto'
import { RowEncoder, TupleBuffer } from '@sluice/row-stream'
import type {
  StagedTable,
  RowContent,
  LoadTarget,
  Publication,
  StoredType,
  Column,
  TupleChunk,
  Warehouse,
} from '../src/warehouse.ts'

export const never = new AbortController().signal

/** Columns from `name: TYPE` pairs; DECIMAL takes `DECIMAL(p,s)`. */
export function columns(types: Record<string, string>): Column[] {
  return Object.entries(types).map(([name, type]) => {
    const [dataType, precision, scale] = type.split(/[(,)]/)
    const decimal = precision && { precision: Number(precision), scale: Number(scale) }
    return { name, label: name, dataType: dataType as Column['dataType'], ...decimal }
  })
}

type Rows = Iterable<readonly (string | number | null)[]>

/** Rows as a load takes them, encoded as what their columns are stored as; texts may stand for values of every type. */
export const given = (rows: Rows): RowContent => ({
  format: 'copy-binary',
  rows: (types) => encoded(rows, types),
})

async function* encoded(rows: Rows, types: readonly StoredType[]): AsyncGenerator<TupleChunk> {
  const buffer = new TupleBuffer()
  const encoder = new RowEncoder(
    types.map((type, index) => ({ ...type, label: `${index + 1}` })),
    buffer,
  )
  for (const row of rows) {
    if (!encoder.write(row)) throw new Error(`Column ${encoder.fault!.column} of a test’s row ${encoder.fault!.reason}`)
    if (buffer.full) yield { bytes: buffer.take() }
  }
  if (buffer.at > 0) yield { bytes: buffer.take() }
}

export function numbered(count: number, value: string | number = 'x'): Iterable<[number, string | number]> {
  return Array.from({ length: count }, (_, index): [number, string | number] => [index + 1, value])
}

type Target = Partial<LoadTarget> & Pick<LoadTarget, 'columns'>

export async function stage(warehouse: Warehouse, target: Target, rows: Rows): Promise<StagedTable> {
  const whole = { schema: 'health', table: 'cases', run: randomUUID(), attempt: 1, ...target }
  const load = await warehouse.loader.stage(whole, never)
  try {
    await load.write(given(rows), never)
  } catch (error) {
    await load[Symbol.asyncDispose]()
    throw error
  }
  return load
}

export async function loadAll(warehouse: Warehouse, target: Target, rows: Rows): Promise<Publication> {
  await using load = await stage(warehouse, target, rows)
  // Awaited here: the load is disposed, and its table dropped, as soon as this function returns.
  return await warehouse.loader.publish([load], async () => true, never)
}
