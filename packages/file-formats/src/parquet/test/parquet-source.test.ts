import { afterAll, describe, expect, it } from '@jest/globals'
import { ChunkPool } from '../../reader-thread-protocol.ts'
import { defaultLimits } from '../limits.ts'
import { readParquet } from '../parquet-source.ts'
import { written } from './write-parquet-files.ts'
import { inputFolder, readWhole } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const numbers = Array.from({ length: 50_000 }, (_, index) => index)
const many = folder.write(
  written({
    id: { element: { type: 'INT32' }, data: numbers },
    name: { element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' }, data: numbers.map((number) => `name ${number}`) },
  }),
)
const quiet = { progress: () => {}, reject: () => {}, rejectMore: () => {}, startOver: async () => {}, log: () => {} }
const config = { path: many, fileName: 'many.parquet' }
const rowStreamOf = async (signal: AbortSignal, limits = {}) => {
  const rowStreams = readParquet(config, quiet, signal, { ...defaultLimits, chunkBytes: 10_000, ...limits })
  const { value } = await rowStreams.next()
  if (value?.content.format !== 'copy-binary') throw new Error('no rowStream')
  return { rowStreams, rows: value.content.rows(value.columns), content: value.content }
}

describe('the Parquet source', () => {
  it('reads all rows, and reports the file and the progress', async () => {
    const { rows, logs, progress } = await readWhole(many)
    expect(rows).toEqual(numbers.map((number) => [number, `name ${number}`]))
    expect(logs).toEqual([
      'INFO LOW Read input.parquet as Parquet by hyparquet, 50000 rows in 50 row groups, SNAPPY, 2 columns: id INTEGER, name TEXT',
    ])
    expect(progress.at(-1)).toMatchObject({ rowsRead: 50_000, bytesRead: progress[0]!.bytesTotal })
  })

  it('reads rows that are longer than the chunk size', async () => {
    const long = written({
      name: { element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' }, data: ['a', 'b'.repeat(5000), 'c'] },
    })
    const { rows } = await readWhole(folder.write(long), { chunkBytes: 100 })
    expect(rows).toEqual([['a'], ['b'.repeat(5000)], ['c']])
  })

  it('reads the same rows for any batch and chunk size', async () => {
    const first = await readWhole(many)
    const again = await readWhole(many, { maxBatchRows: 1, chunkBytes: 1000 })
    expect(again.rows).toEqual(first.rows)
  })

  it('waits while the allowed chunks are in flight, and reuses their memory', async () => {
    const sent: ArrayBuffer[] = []
    const pool = new ChunkPool({ ...defaultLimits, chunksInFlight: 2 }, (memory) => sent.push(memory))
    for (let chunk = 0; chunk < 2; chunk++) pool.close(pool.open(1), 1)
    let waited = false
    const room = pool.waitForRoom().then(() => {
      waited = true
    })
    await new Promise(setImmediate)
    expect(waited).toBe(false)
    pool.releaseChunk(sent[1]!)
    await room
    expect(pool.open(1).buffer).toBe(sent[1])
    expect(pool.open(defaultLimits.chunkBytes + 1).length).toBe(defaultLimits.chunkBytes + 1)
  })

  it('stops when it is aborted before or during a read', async () => {
    const stop = new AbortController()
    const { rows } = await rowStreamOf(stop.signal)
    const reading = rows[Symbol.asyncIterator]()
    await reading.next()
    const waiting = reading.next().then(() => reading.next())
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
    await expect(rowStreamOf(AbortSignal.abort(new Error('never began')))).rejects.toThrow('never began')
  })

  it('can be closed without reading the rows, and ends its thread', async () => {
    const { rowStreams, rows } = await rowStreamOf(new AbortController().signal)
    expect(await rowStreams.return(undefined)).toEqual({ value: undefined, done: true })
    await expect(rows[Symbol.asyncIterator]().next()).rejects.toThrow(
      'The thread that reads many.parquet ended unexpectedly',
    )
  })
})
