import { ambiguousAmong } from '../ambiguous-among.ts'
import { rowTooLarge, within } from '../caps.ts'
import { withoutEnd } from '../../../sql-text.ts'
import { type Readdressed, readdressed } from '../sql-names.ts'
import { uniqueNames } from '../unique-names.ts'
import type { Place } from '../views.ts'
import {
  type AmbiguousTable,
  type Cell,
  type ReadLimits,
  type Rows,
  type UserQuery,
  type WarehouseColumn,
  WarehouseProblem,
} from '../warehouse.ts'
import { ownRelations, ownSchemas } from './catalogue.ts'
import type { Dialect, ReadColumn, Session } from './dialect.ts'
import { queryProblemOf, tooSlow } from './problems.ts'
import type { Stands } from './sense.ts'
import { patiently, settleFirst } from './settle.ts'
import { asked, describeColumn, keyOf, readShape, shownAs } from './shapes.ts'

const mostRows = 10_000
const mostBytes = 32 * 1024 * 1024
const usualBytes = 4 * 1024 * 1024
const usualSeconds = 30
const mostSeconds = 86_400
/** Rows that are asked for at once. */
const batchRows = 2_000

/**
 * A user's text as the server takes it. `literals`: with the values in it, for a text that is kept or run by another. `stands`: with other
 * tables in the place of those.
 */
export async function prepared(
  dialect: Dialect,
  { text, values = [], schemas = [] }: UserQuery,
  { literals = false, stands }: { literals?: boolean; stands?: Stands } = {},
): Promise<Readdressed> {
  if (text.includes('\0')) throw new WarehouseProblem('QUERY_FAILED', 'The query contains a NUL character.')
  const relations = await asked(dialect, { role: 'service' }, async (session) =>
    ownRelations(dialect, session, [...schemas, ...(await ownSchemas(dialect, session))]),
  )
  const { language, names } = dialect
  const found = readdressed(withoutEnd(text), {
    schemas,
    relations,
    whole: dialect.bareNames === 'REWRITTEN' || stands !== undefined,
    ...(language && { language }),
    address: (place: Place) => names.place(stands?.get(keyOf(place)) ?? place),
    ...(literals && {
      parameter: (number: number) =>
        values[number - 1] === undefined ? undefined : names.literal(values[number - 1]!),
    }),
  })
  if (dialect.bareNames === 'REWRITTEN' || literals || stands) return found
  return { ...found, text: withoutEnd(text) }
}

/** See `Warehouse.query`. */
export async function query(dialect: Dialect, given: UserQuery, signal?: AbortSignal): Promise<Rows> {
  signal?.throwIfAborted()
  const { limits = {}, values = [], schemas = [] } = given
  const seconds = Math.max(1, within(limits.seconds, mostSeconds, usualSeconds))
  const most = { rows: within(limits.rows, mostRows, mostRows), bytes: within(limits.bytes, mostBytes, usualBytes) }
  const offset = within(limits.offset, Number.MAX_SAFE_INTEGER, 0)
  const late = AbortSignal.timeout(seconds * 1_000)
  const either = signal ? AbortSignal.any([signal, late]) : late
  try {
    const opening = { role: 'read', schemas, signal: either, seconds } as const
    return await patiently(dialect, async () => {
      const { text } = await prepared(dialect, given)
      return asked(dialect, opening, (session) => taken(session, { text, values, offset, most }))
    })
  } catch (error) {
    signal?.throwIfAborted()
    if (late.aborted) throw tooSlow(seconds)
    throw queryProblemOf(dialect, error, given, seconds)
  }
}

interface Taking {
  text: string
  values: readonly (string | null)[]
  offset: number
  most: { rows: number; bytes: number }
}

/** So many rows, or as many as fit into so many bytes; the rest is left at the server. */
export async function taken(
  session: Session,
  { text, values, offset, most }: Taking,
): Promise<Rows & { more: boolean }> {
  let columns: WarehouseColumn[] = []
  const rows: Cell[][] = []
  let [skipped, bytes] = [0, 0]
  const batch = { rows: Math.min(batchRows, most.rows + 1), bytes: () => Math.max(1, most.bytes - bytes) }
  for await (const read of session.read(text, values, batch)) {
    columns = resultColumns(read.columns)
    const each = read.bytes / Math.max(1, read.rows.length)
    for (const row of read.rows) {
      if (skipped < offset) {
        skipped += 1
        continue
      }
      if (rows.length === most.rows) return { columns, rows, truncated: false, more: true }
      bytes += read.rows.length === 1 ? each : sizeOf(row)
      if (bytes > most.bytes) {
        if (rows.length === 0) throw rowTooLarge(most.bytes)
        return { columns, rows, truncated: true, more: true }
      }
      rows.push(row)
    }
  }
  return { columns, rows, truncated: false, more: false }
}

/** About as many bytes as the row is as JSON. */
function sizeOf(row: readonly Cell[]): number {
  let bytes = 2
  for (const cell of row)
    bytes +=
      typeof cell === 'string' ? cell.length + 3 : typeof cell === 'object' && cell ? JSON.stringify(cell).length : 8
  return bytes
}

export function resultColumns(columns: readonly ReadColumn[]): WarehouseColumn[] {
  const names = uniqueNames(columns.map(({ name }) => name))
  return columns.map(({ name, dataType, precision, scale }, index) => ({
    name: names[index]!,
    label: name,
    dataType,
    ...(precision !== undefined && { precision }),
    ...(scale !== undefined && { scale }),
    primaryKey: false,
  }))
}

/** See `Warehouse.readTable`: in the order of the key; without one, as the server has them. */
export async function readTable(
  dialect: Dialect,
  place: Place,
  page: { limit: number; offset: number },
  { seconds = usualSeconds, signal }: ReadLimits = {},
): Promise<Rows> {
  signal?.throwIfAborted()
  const shape = await asked(dialect, { role: 'service' }, async (session) => {
    await settleFirst(dialect, session)
    return readShape(dialect, session, place)
  })
  if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${shownAs(place)} does not exist. Load it first.`)
  const columns = shape.columns.map((column) => describeColumn(dialect, column))
  const limit = Math.min(Math.max(0, page.limit), mostRows)
  const text = dialect.page(
    place,
    shape.columns.map(({ name }) => name),
    {
      limit,
      offset: Math.max(0, page.offset),
      order: shape.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name),
    },
  )
  const most = { rows: limit, bytes: usualBytes }
  const found = await patiently(dialect, () =>
    asked(dialect, { role: 'read', seconds, signal }, (session) =>
      taken(session, { text, values: [], offset: 0, most }),
    ),
  )
  return { columns, rows: found.rows.map((row) => asJson(row, columns)), truncated: found.truncated }
}

/** JSON that is kept as text. */
const asJson = (row: Cell[], columns: readonly WarehouseColumn[]): Cell[] =>
  row.map((cell, index) =>
    columns[index]!.dataType === 'JSONB' && typeof cell === 'string' ? (JSON.parse(cell) as Cell) : cell,
  )

/** See `Warehouse.ambiguousTable`. */
export async function ambiguousTable(
  dialect: Dialect,
  given: UserQuery,
  preferred: number,
): Promise<AmbiguousTable | undefined> {
  const schemas = given.schemas ?? []
  const { bare } = await prepared(dialect, given)
  const there = await asked(dialect, { role: 'service' }, (session) => ownRelations(dialect, session, schemas))
  return ambiguousAmong(bare, there, schemas, preferred)
}
