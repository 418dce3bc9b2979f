import type { Connection } from 'tedious'
import type { Filling } from '../dialects/dialect.ts'
import { type Counted, encodedTuples } from '../rows/encoded-tuples.ts'
import type { LoadContent } from '../warehouse.ts'
import { WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './access.ts'
import { bulkCell } from './bulk-cells.ts'
import { bulkColumn, writeNone } from './bulk-columns.ts'
import { connected } from './connection.ts'
import { namesOf } from './names.ts'

/** The token before each row; the driver writes that of the first one of a chunk. */
const rowToken = 0xd1

/** See `Dialect.pour`: as one bulk load, which is all there or not at all. */
export async function pour(
  access: ClientAccess,
  { place, columns, shown }: Filling,
  content: LoadContent,
  signal: AbortSignal,
): Promise<{ rows: number; bytes: number }> {
  signal.throwIfAborted()
  const connection = await connected(access.logins.service)
  const counted: Counted = { rows: 0, bytes: 0 }
  const writers = columns.map(({ label, type, nullable, stored }) => ({
    label,
    value: bulkCell(stored.dataType, type),
    none: nullable ? writeNone(type) : undefined,
  }))
  let failure: unknown
  const over = new AbortController()
  const stopped = AbortSignal.any([signal, over.signal])
  async function* rows() {
    try {
      const tuples = until(stopped, content.rows(columns.map(({ stored }) => stored)))
      for await (const bytes of encodedTuples(tuples, writers, { place: shown, counted, between: rowToken })) {
        yield [bytes]
      }
    } catch (error) {
      failure = error
      throw error
    }
  }
  const sent = rows()
  try {
    const table = namesOf(access).place(place)
    const taken = await poured(connection, table, columns, sent, signal)
    if (failure !== undefined) throw failure
    if (taken !== counted.rows)
      throw new WarehouseProblem(
        'WAREHOUSE_REFUSED',
        `The warehouse has ${taken} rows of ${shown} where ${counted.rows} were sent.`,
        { retryable: true },
      )
    return counted
  } catch (error) {
    signal.throwIfAborted()
    throw failure ?? error
  } finally {
    over.abort()
    connection.close()
    // A driver that lost its connection asks for no more, and does not say so.
    void sent.return(undefined).catch(() => {})
  }
}

/** A slow source is not asked for more until a piece is full, once nobody wants it. */
async function* until<Chunk>(stopped: AbortSignal, chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    stopped.throwIfAborted()
    yield chunk
  }
}

/** Answers how many rows the server took. */
async function poured(
  connection: Connection,
  table: string,
  columns: Filling['columns'],
  rows: AsyncIterable<Buffer[]>,
  signal: AbortSignal,
): Promise<number> {
  const done = Promise.withResolvers<number>()
  const load = connection.newBulkLoad(table, { keepNulls: true, lockTable: true }, (error, count) =>
    error ? done.reject(error) : done.resolve(count ?? 0),
  )
  // The driver puts the brackets around it, and nothing else.
  for (const [index, column] of columns.entries())
    load.addColumn(column.name.replaceAll(']', ']]'), bulkColumn(column, index), { nullable: column.nullable })
  connection.on('end', () => done.reject(Object.assign(new Error('Connection lost'), { code: 'ESOCKET' })))
  const stop = () => connection.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    connection.execBulkLoad(load, rows)
    return await done.promise
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
