import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { RowStream } from '@sluice/row-stream'
import { sourceIdleTimeout } from './source-idle-timeout.ts'

/** Yields a row stream with one chunk for each entry of `waits`, after that many milliseconds. */
async function* rowStreams(waits: number[]): AsyncGenerator<RowStream> {
  async function* rows() {
    for (const wait of waits) {
      await sleep(wait)
      yield { bytes: new Uint8Array(1) }
    }
  }
  yield { table: 'cases', columns: [], content: { format: 'copy-binary', rows, size: 7 } }
}

async function read(waits: number[], between = 0) {
  const ends: string[] = []
  const source = sourceIdleTimeout(0.2, ({ code }) => ends.push(code))
  let chunks = 0
  for await (const { content } of source.watch(rowStreams(waits))) {
    expect(content).toMatchObject({ format: 'copy-binary', size: 7 })
    if (content.format !== 'copy-binary') continue
    for await (const _chunk of content.rows([])) {
      chunks += 1
      await sleep(between)
    }
  }
  return { chunks, ends }
}

describe('sourceIdleTimeout', () => {
  it('reports SOURCE_SILENT when the source sends nothing for longer than the timeout', async () => {
    expect(await read([0, 400])).toEqual({ chunks: 2, ends: ['SOURCE_SILENT'] })
  })

  it('keeps all properties of a row stream', async () => {
    const rowStream: RowStream = {
      table: 'visits',
      columns: [],
      sparse: true,
      unread: 'The sheet Notes was not read.',
      parentRecords: { table: 'cases', keys: ['id'], column: 'case_id' },
      cursor: () => 1,
      whole: () => false,
      content: {
        format: 'copy-binary',
        rows: async function* () {},
        size: 1,
        facts: () => [],
        reading: () => 2,
      },
    }
    async function* one() {
      yield rowStream
    }
    for await (const { content, ...rest } of sourceIdleTimeout(1, () => {}).watch(one())) {
      const { content: own, ...others } = rowStream
      expect(rest).toEqual(others)
      expect(content).toEqual({ ...own, rows: expect.any(Function) })
    }
  })

  it('allows pauses shorter than the timeout and any wait for the consumer', async () => {
    expect(await read([120, 120, 120])).toEqual({ chunks: 3, ends: [] })
    expect(await read([0, 0], 300)).toEqual({ chunks: 2, ends: [] })
  })

  it('does not time out while the source records activity', async () => {
    const ends: string[] = []
    const source = sourceIdleTimeout(0.2, ({ code }) => ends.push(code))
    const watched = source.watch(rowStreams([500]))[Symbol.asyncIterator]()
    const { value } = (await watched.next()) as { value: RowStream }
    const signs = setInterval(() => source.recordActivity(), 50)
    if (value.content.format === 'copy-binary') for await (const _ of value.content.rows([])) clearInterval(signs)
    clearInterval(signs)
    expect(ends).toEqual([])
  })

  it('returns the inner iterator even while its next() is pending', async () => {
    let returned = false
    const inner: AsyncIterator<RowStream> = {
      next: () => new Promise(() => {}),
      async return() {
        returned = true
        return { done: true, value: undefined }
      },
    }
    const hanging: AsyncIterable<RowStream> = { [Symbol.asyncIterator]: () => inner }
    const { watch } = sourceIdleTimeout(5, () => {})
    const watched = watch(hanging)[Symbol.asyncIterator]()
    void watched.next()
    await watched.return?.()
    expect(returned).toBe(true)
  })
})
