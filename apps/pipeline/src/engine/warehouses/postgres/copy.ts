import type { Pool } from 'pg'
import type { LoadContent, StoredType } from '../warehouse.ts'
import { limitBytes } from './database-limit.ts'
import { openLanes } from './lane.ts'
import { qualified } from './names.ts'
import { GiverFailed, Pour } from './pour.ts'
import { warehouseProblem, type Scene } from './problems.ts'

/** What is copied into a staging table, and the columns it brings, quoted. */
export interface Copying {
  staging: string
  columns: string
  types: readonly StoredType[]
  content: LoadContent
  /** All rows frozen, however many: slower, and visible to every snapshot. */
  frozen: boolean
  /** Returns the bytes that may still be written, or throws. Absent where the database has no limit. */
  assertFree?: (() => Promise<number>) | undefined
}

export interface Copied {
  rows: number
  bytes: number
  /** Every row is visible to every snapshot; otherwise readers that began earlier are to be waited for. */
  frozen: boolean
}

/** Bytes from which a second connection pays for what it costs: waiting for older readers, and hint bits. */
const worthTwo = 64 * 1024 * 1024

/**
 * Fills an empty staging table. One connection can freeze what it writes, but the one backend behind it is what a load
 * waits for; so large loads go over two, and what turns out to be large goes on over two.
 */
export async function copyInto(pool: Pool, copying: Copying, scene: Scene, signal: AbortSignal): Promise<Copied> {
  const { columns, types, content, assertFree } = copying
  const statement = { table: qualified('sluice', copying.staging), columns }
  const rows = content.rows(types)
  const chunks = assertFree ? limitBytes(rows, assertFree) : rows
  using pour = new Pour(chunks, signal, pool.options.database ?? '')
  const through = async (freeze: boolean, most?: number) => {
    using stack = new DisposableStack()
    const lanes = await openLanes(pool, { ...statement, freeze }, freeze ? 1 : 2, signal)
    for (const lane of lanes) stack.use(lane)
    const whole = await pour.into(lanes, most)
    return { whole, rows: await pour.finish(lanes) }
  }
  try {
    const most = copying.frozen ? Infinity : worthTwo
    const large = (content.size ?? 0) >= most
    const first = large ? { whole: false, rows: 0 } : await through(true, most)
    const rest = first.whole ? 0 : (await through(false)).rows
    return { rows: first.rows + rest, bytes: pour.bytes, frozen: first.whole }
  } catch (error) {
    if (error instanceof GiverFailed) throw error.cause
    signal.throwIfAborted()
    throw warehouseProblem(error, scene)
  }
}
