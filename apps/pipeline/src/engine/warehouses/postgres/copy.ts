import type { Pool } from 'pg'
import type { LoadContent, StoredType, TupleChunk } from '../warehouse.ts'
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
  const { columns, types, content } = copying
  const binary = content.format === 'copy-binary'
  // Chunks of text may end in the middle of a row.
  const alone = copying.frozen || !binary
  const statement = {
    table: qualified('sluice', copying.staging),
    columns,
    format: binary ? 'binary' : 'text',
  } as const
  using pour = new Pour(chunksOf(content, types), signal)
  const through = async (freeze: boolean, most?: number) => {
    using stack = new DisposableStack()
    const lanes = await openLanes(pool, { ...statement, freeze }, freeze ? 1 : 2, signal)
    for (const lane of lanes) stack.use(lane)
    const whole = await pour.into(lanes, most)
    return { whole, rows: await pour.finish(lanes) }
  }
  try {
    const large = binary && (content.size ?? 0) >= worthTwo
    const first = alone || !large ? await through(true, alone ? Infinity : worthTwo) : { whole: false, rows: 0 }
    const rest = first.whole ? 0 : (await through(false)).rows
    return { rows: first.rows + rest, bytes: pour.bytes, frozen: first.whole }
  } catch (error) {
    if (error instanceof GiverFailed) throw error.cause
    signal.throwIfAborted()
    // What the server calls a line is a row of one connection, which tells nobody anything.
    throw warehouseProblem(error, binary ? { ...scene, lines: false } : scene)
  }
}

async function* chunksOf(content: LoadContent, types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
  if (content.format === 'copy-binary') yield* content.rows(types)
  else for await (const bytes of content.chunks) yield { bytes }
}
