import type { Writable } from 'node:stream'
import type { Pool } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { withClient } from './access.ts'
import { qualified } from './names.ts'
import { warehouseProblem, type Scene } from './problems.ts'

/** An error of the bytes' giver: travels through ours unwrapped. */
class GiverFailed extends Error {}

/**
 * Fills an empty staging table. TRUNCATE in the same transaction makes FREEZE possible: frozen rows are visible to
 * every snapshot, so a reader whose snapshot is older than the load sees the new rows after the swap, not an empty table.
 */
export async function copyInto(
  pool: Pool,
  staging: string,
  columns: string,
  chunks: AsyncIterable<Uint8Array>,
  scene: Scene,
  signal: AbortSignal,
) {
  const table = qualified('sluice', staging)
  try {
    return await withClient(pool, signal, async (client) => {
      await client.query(`begin; set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; truncate ${table}`)
      const copy = client.query(copyFrom(`copy ${table} (${columns}) from stdin with (format text, freeze)`))
      const bytes = await pump(chunks, copy, signal)
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

/**
 * One chunk in flight. Written by hand, not with `pipeline`: when the warehouse fails or the signal aborts, it must not
 * wait for a giver that hangs. Each wait is a promise of its own, so a long load does not grow a list of listeners.
 */
async function pump(chunks: AsyncIterable<Uint8Array>, copy: Writable, signal: AbortSignal): Promise<number> {
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
      const next = await unlessBroken<IteratorResult<Uint8Array>>((resolve, reject) => {
        giver.next().then(resolve, (cause: unknown) => reject(new GiverFailed('the source failed', { cause })))
      })
      if (next.done) break
      bytes += next.value.byteLength
      await unlessBroken<void>((resolve) => {
        copy.write(next.value, (error) => (error ? breaks(error) : resolve()))
      })
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
