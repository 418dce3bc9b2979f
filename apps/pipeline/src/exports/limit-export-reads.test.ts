import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { limitReading } from './limit-export-reads.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const never = new AbortController().signal
const oneByte = Buffer.alloc(1)
const hour = 3_600_000

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0
  for await (const chunk of bytes) length += chunk.length
  return length
}

/** Yields chunks of a byte, then waits forever and ignores every signal. */
async function* stalling(chunks: number) {
  for (let count = 0; count < chunks; count += 1) yield Buffer.alloc(1)
  await new Promise(() => {})
}

async function* trickling(ended: { yes?: boolean }) {
  try {
    for (;;) {
      await sleep(5)
      yield Buffer.alloc(1)
    }
  } finally {
    ended.yes = true
  }
}

describe('a limited read', () => {
  it('yields all chunks of a source that ends in time', async () => {
    using reading = limitReading({ silenceMs: hour, readMs: hour }, never)
    async function* three() {
      for (let count = 0; count < 3; count += 1) yield Buffer.alloc(2)
    }
    expect(await collect(reading.limit(three()))).toBe(6)
    expect(reading.signal.aborted).toBe(false)
  })

  it('needs no memory for chunks that were read before', async () => {
    using reading = limitReading({ silenceMs: hour, readMs: hour }, never)
    let growth = 0
    async function* many() {
      collectGarbage()
      const before = process.memoryUsage().heapUsed
      for (let count = 0; count < 50_000; count += 1) yield oneByte
      collectGarbage()
      growth = process.memoryUsage().heapUsed - before
    }
    expect(await collect(reading.limit(many()))).toBe(50_000)
    expect(growth).toBeLessThan(2_000_000)
  })

  it('ends when the source sends nothing, even if the source ignores its signal', async () => {
    using reading = limitReading({ silenceMs: 50, readMs: hour }, never)
    await expect(collect(reading.limit(stalling(2)))).rejects.toMatchObject({
      code: 'query-timeout',
      message:
        'The source sent nothing for 0.05 seconds. The export was stopped. Export fewer rows, or make the view materialised.',
    })
    expect(reading.signal.aborted).toBe(true)
  })

  it('ends at the limit of the whole read, although chunks keep coming', async () => {
    const ended: { yes?: boolean } = {}
    using reading = limitReading({ silenceMs: hour, readMs: 100 }, never)
    await expect(collect(reading.limit(trickling(ended)))).rejects.toThrow('Reading took longer than 0.1 seconds.')
  })

  it('ends when the export ends', async () => {
    const ending = new AbortController()
    using reading = limitReading({ silenceMs: hour, readMs: hour }, ending.signal)
    const collected = collect(reading.limit(stalling(1)))
    ending.abort(new Error('the export ended'))
    await expect(collected).rejects.toThrow('the export ended')
  })

  it('closes its source when the consumer stops', async () => {
    const ended: { yes?: boolean } = {}
    using reading = limitReading({ silenceMs: hour, readMs: hour }, never)
    for await (const _chunk of reading.limit(trickling(ended))) break
    expect(ended.yes).toBe(true)
  })
})
