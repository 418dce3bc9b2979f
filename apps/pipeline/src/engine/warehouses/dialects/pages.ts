import { randomUUID } from 'node:crypto'
import type { Place } from '../views.ts'
import { type Cell, type Rows, type UserQuery, WarehouseProblem } from '../warehouse.ts'
import { ownSchemas } from './catalogue.ts'
import type { Dialect, ReadColumn } from './dialect.ts'
import { dropMark } from './ledger.ts'
import { makeFilled } from './merge.ts'
import { queryProblemOf } from './problems.ts'
import { prepared, resultColumns } from './query.ts'
import { patiently } from './settle.ts'
import { asked, hiddenName } from './shapes.ts'

const mostPageRows = 10_000
const mostPageBytes = 32 * 1024 * 1024
/** The column with each row's place in the order of the query. */
const order = 'n'
/** Seconds that the slowest taker may need for all pages. */
const slowest = 14_400

/**
 * See `Warehouse.queryPages`. The result is kept at the server in a hidden table, and read from there: so it is as of its beginning, and
 * no load waits for its readers.
 */
export async function* queryPages(
  dialect: Dialect,
  given: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<Rows> {
  const { limits = {}, schemas = [] } = given
  const seconds = Math.max(1, Math.min(86_400, limits.seconds ?? 1_800))
  const size = Math.max(1, Math.min(mostPageRows, pageRows))
  const bytes = Math.min(mostPageBytes, limits.bytes ?? mostPageBytes)
  const service = { role: 'service' } as const
  let place: Place | undefined
  let id: string | undefined
  try {
    const home = schemas[0] ?? (await asked(dialect, service, (session) => ownSchemas(dialect, session)))[0]
    if (home === undefined)
      throw new WarehouseProblem('QUERY_FAILED', 'There is no schema yet that a query could read.')
    const kept = { schema: home, name: hiddenName('pages', randomUUID()) }
    const { text, columns } = await patiently(dialect, async () => {
      const { text: whole } = await prepared(dialect, given, { literals: true })
      return { text: whole, columns: await columnsOf(dialect, whole, { schemas, signal, seconds }) }
    })
    const names = columns.map((_column, index) => `c${index + 1}`)
    const numbered = dialect.numbered?.(text, columns)
    const made = columns.map(({ type }, index) => ({ name: names[index]!, type, nullable: true }))
    if (numbered !== undefined)
      made.push({ name: order, type: dialect.types.sqlType({ dataType: 'BIGINT' }), nullable: true })
    place = kept
    id = await asked(dialect, service, (session) =>
      makeFilled(dialect, session, kept, made, {
        kind: 'PASSING',
        until: Date.now() + (seconds + slowest) * 1_000,
      }),
    )
    const into = made.map(({ name }) => name)
    await patiently(dialect, () =>
      asked(dialect, { role: 'load', schemas, signal, seconds }, async (session) => {
        for (const statement of dialect.changes.insert(kept, into, numbered ?? text)) await session.execute(statement)
      }),
    )
    const { quoted, place: at } = dialect.names
    const inOrder = numbered === undefined ? '' : ` order by ${quoted(order)}`
    const all = `select ${names.map(quoted).join(', ')} from ${at(kept)}${inOrder}`
    yield* pagesOf(dialect, { text: all, columns, size, bytes, limits }, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblemOf(dialect, error, given, seconds)
  } finally {
    if (place) await forget(dialect, place, id).catch(() => {})
  }
}

/** As role `read`. */
export async function columnsOf(
  dialect: Dialect,
  text: string,
  opening: { schemas: readonly string[]; signal: AbortSignal; seconds: number },
): Promise<readonly ReadColumn[]> {
  const columns = await asked(dialect, { role: 'read', ...opening }, (session) => session.columns(text))
  if (columns.length === 0) throw new WarehouseProblem('QUERY_FAILED', 'The query has no columns.')
  return columns
}

function forget(dialect: Dialect, place: Place, id: string | undefined): Promise<void> {
  return asked(dialect, { role: 'service' }, async (session) => {
    await session.execute(dialect.changes.dropTable(place))
    if (id !== undefined) await dropMark(dialect, session, id)
  })
}

interface Kept {
  text: string
  columns: readonly ReadColumn[]
  size: number
  bytes: number
  limits: NonNullable<UserQuery['limits']>
}

async function* pagesOf(
  dialect: Dialect,
  { text, columns, size, bytes, limits }: Kept,
  signal: AbortSignal,
): AsyncGenerator<Rows> {
  await using session = await dialect.open({ role: 'read', signal })
  const shown = resultColumns(columns)
  let left = limits.rows ?? Number.MAX_SAFE_INTEGER
  let skip = limits.offset ?? 0
  let page: Cell[][] = []
  const whole = (more: boolean): Rows => ({ columns: shown, rows: page, truncated: false, more })
  /** Bytes of the page, about. */
  let held = 0
  for await (const read of session.read(text, [], { rows: size, bytes: () => bytes })) {
    const each = read.bytes / Math.max(1, read.rows.length)
    for (const row of read.rows) {
      if (skip > 0) {
        skip -= 1
        continue
      }
      if (left <= 0) break
      if (page.length === size) {
        yield whole(true)
        page = []
        held = 0
      }
      page.push(row)
      held += each
      left -= 1
    }
    if (held > bytes && page.length < size) throw pageTooLarge(size, bytes)
    if (left <= 0) break
  }
  if (page.length > 0) yield whole(false)
}

function pageTooLarge(rows: number, bytes: number): WarehouseProblem {
  const most = `${Math.round(bytes / 1024 / 1024)} MB`
  return new WarehouseProblem('RESULT_TOO_LARGE', `${rows} rows of the query are larger than ${most}. Select less.`)
}
