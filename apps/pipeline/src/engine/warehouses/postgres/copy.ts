import type { Writable } from 'node:stream'
import type { Pool } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { failpoint } from '../../failpoints.ts'
import { withClient } from './access.ts'
import { qualified } from './names.ts'
import { warehouseProblem, type Scene } from './problems.ts'
import type { LoadContent, StoredType, TupleChunk } from '../warehouse.ts'

/** An error of the bytes' giver: travels through ours unwrapped. */
class GiverFailed extends Error {}

/** What is copied into a staging table, and the columns it brings, quoted. */
export interface Copying {
  staging: string
  columns: string
  types: readonly StoredType[]
  content: LoadContent
}

/**
 * Fills an empty staging table. TRUNCATE in the same transaction makes FREEZE possible: frozen rows are visible to
 * every snapshot, so a reader whose snapshot is older than the load sees the new rows after the swap, not an empty table.
 */
export async function copyInto(
  pool: Pool,
  { staging, columns, types, content }: Copying,
  scene: Scene,
  signal: AbortSignal,
) {
  const table = qualified('sluice', staging)
  const format = content.format === 'copy-binary' ? 'binary' : 'text'
  try {
    return await withClient(pool, signal, async (client) => {
      await client.query(`begin; set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; truncate ${table}`)
      const copy = client.query(copyFrom(`copy ${table} (${columns}) from stdin with (format ${format}, freeze)`))
      const bytes = await pump(chunksOf(content, types), copy, signal)
      const rows = copy.rowCount
      await client.query('commit')
      return { rows, bytes }
    })
  } catch (error) {
    if (error instanceof GiverFailed) throw error.cause
    if (signal.aborted) throw error
    throw warehouseProblem(error, scene)
  }
}

/** Signature, flags, no extension; and the field count -1 that ends it all. */
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])

async function* chunksOf(content: LoadContent, types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
  if (content.format === 'copy-text') {
    for await (const bytes of content.chunks) yield { bytes }
    return
  }
  yield { bytes: header }
  yield* content.rows(types)
  yield { bytes: trailer }
}

/**
 * One chunk in flight. Written by hand, not with `pipeline`: when the warehouse fails or the signal aborts, it must not
 * wait for a giver that hangs. Each wait is a promise of its own, so a long load does not grow a list of listeners.
 */
async function pump(chunks: AsyncIterable<TupleChunk>, copy: Writable, signal: AbortSignal): Promise<number> {
  let broken: Error | undefined
  let fail: ((error: Error) => void) | undefined
  const breaks = (error: Error) => {
    broken ??= error
    fail?.(broken)
  }
  const unlessBroken = <T>(wait: (resolve: (value: T) => void, reject: (error: Error) => void) => void) =>
    new Promise<T>((resolve, reject) => {
      fail = reject
      if (broken) reject(broken)
      else wait(resolve, reject)
    })
  const abort = () => breaks(signal.reason)
  copy.on('error', breaks)
  signal.addEventListener('abort', abort, { once: true })

  const giver = chunks[Symbol.asyncIterator]()
  let bytes = 0
  let exhausted = false
  try {
    for (;;) {
      const next = await unlessBroken<IteratorResult<TupleChunk>>((resolve, reject) => {
        giver.next().then(resolve, (cause: unknown) => reject(new GiverFailed('the source failed', { cause })))
      })
      if (next.done) break
      const chunk = next.value
      bytes += chunk.bytes.byteLength
      await unlessBroken<void>((resolve) => {
        copy.write(chunk.bytes, (error) => (error ? breaks(error) : resolve()))
      })
      chunk.release?.()
      await failpoint('in-copy')
    }
    exhausted = true
    await unlessBroken<void>((resolve) => {
      copy.end((error?: Error | null) => (error ? breaks(error) : resolve()))
    })
    return bytes
  } finally {
    signal.removeEventListener('abort', abort)
    if (!exhausted) void Promise.resolve(giver.return?.()).catch(() => {})
  }
}
