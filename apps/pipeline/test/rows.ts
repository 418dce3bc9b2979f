import { randomUUID } from 'node:crypto'
import type {
  Load,
  LoadContent,
  LoadTarget,
  Publication,
  TargetColumn,
  Warehouse,
} from '../src/engine/warehouses/warehouse.ts'

export const never = new AbortController().signal

/** Columns from `name: TYPE` pairs; DECIMAL takes `DECIMAL(p,s)`. */
export function columns(types: Record<string, string>): TargetColumn[] {
  return Object.entries(types).map(([name, type]) => {
    const [dataType, precision, scale] = type.split(/[(,)]/)
    const decimal = precision && { precision: Number(precision), scale: Number(scale) }
    return { name, label: name, dataType: dataType as TargetColumn['dataType'], ...decimal }
  })
}

export async function* copyText(rows: Iterable<readonly (string | number | null)[]>): AsyncGenerator<Uint8Array> {
  let batch = ''
  for (const row of rows) {
    batch += `${row.map((cell) => (cell === null ? '\\N' : String(cell))).join('\t')}\n`
    if (batch.length < 65_536) continue
    yield Buffer.from(batch)
    batch = ''
  }
  if (batch) yield Buffer.from(batch)
}

/** What copyText gives, as a load takes it. */
export const text = (chunks: AsyncIterable<Uint8Array>): LoadContent => ({ format: 'copy-text', chunks })

export function numbered(count: number, value: string | number = 'x'): Iterable<[number, string | number]> {
  return Array.from({ length: count }, (_, index): [number, string | number] => [index + 1, value])
}

type Rows = Iterable<readonly (string | number | null)[]>
type Target = Partial<LoadTarget> & Pick<LoadTarget, 'columns'>

export async function stage(warehouse: Warehouse, target: Target, rows: Rows): Promise<Load> {
  const whole = { schema: 'health', table: 'cases', run: randomUUID(), attempt: 1, ...target }
  const load = await warehouse.beginLoad(whole, never)
  try {
    await load.write(text(copyText(rows)), never)
  } catch (error) {
    await load[Symbol.asyncDispose]()
    throw error
  }
  return load
}

export async function loadAll(warehouse: Warehouse, target: Target, rows: Rows): Promise<Publication> {
  await using load = await stage(warehouse, target, rows)
  // Awaited here: the load is disposed, and its table dropped, as soon as this function returns.
  return await warehouse.publish([load], async () => true, never)
}
