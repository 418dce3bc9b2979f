import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@sluice/testing/wait-until'
import { createRunningExports, type RunningExport, type RunningExports } from './running-exports.ts'

const never = new AbortController().signal

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-exports-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** A source of chunks of 1,000 bytes. `more` lets it go on; `stopped` is set when it is aborted. */
function gatedSource(chunks: number) {
  const gate = Promise.withResolvers<void>()
  const state = { read: 0, stopped: undefined as unknown }
  async function* read(signal: AbortSignal) {
    signal.addEventListener('abort', () => (state.stopped = signal.reason))
    for (let count = 0; count < chunks; count += 1) {
      if (count === 1)
        await Promise.race([gate.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))])
      signal.throwIfAborted()
      state.read += 1
      yield Buffer.alloc(1_000, count)
    }
  }
  return { read, state, more: gate.resolve }
}

async function collect(started: RunningExport, from = 0): Promise<number> {
  let length = 0
  for await (const bytes of started.spool.read(from, never)) length += bytes.length
  return length
}

const startWith = (
  exports: RunningExports,
  source: ReturnType<typeof gatedSource>,
  client = 'a',
  key: string = client,
) => exports.start({ client, key, signal: never, read: source.read })

describe('a running export', () => {
  it('is read to its end at full speed, however slow its clients are', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 0, maxAgeMs: 60_000 })
    const source = gatedSource(50)
    const started = await startWith(exports, source)
    const client = started.attach()
    source.more()
    expect(await started.spool.size()).toBe(50_000)
    const [slow, late] = [started.spool.read(0, never), collect(started, 20_000)]
    expect((await slow.next()).value!.length).toBeGreaterThan(0)
    expect(await late).toBe(30_000)
    await slow.return(undefined)
    client.detach()
    await until(() => exports.find('a', undefined) === undefined)
  })

  it('leaves no file in its directory', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 60_000, maxAgeMs: 60_000 })
    const source = gatedSource(2)
    await startWith(exports, source)
    expect(await readdir(directory)).toEqual([])
  })

  it('can be continued while a client may come back, and is stopped afterwards', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 200, maxAgeMs: 60_000 })
    const source = gatedSource(3)
    const started = await startWith(exports, source)
    started.attach().detach()
    expect(exports.find('a', undefined)).toBe(started)
    const back = exports.find('a', undefined)!.attach()
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(source.state.stopped).toBeUndefined()
    back.detach()
    await until(() => source.state.stopped !== undefined)
    expect(exports.find('a', undefined)).toBeUndefined()
    await expect(collect(started)).rejects.toThrow('The export has ended. Request it again.')
  })

  it('ends with its client if it has no key, and cannot be found', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 60_000, maxAgeMs: 60_000 })
    const source = gatedSource(3)
    const started = await exports.start({ client: 'a', key: undefined, signal: never, read: source.read })
    started.attach().detach()
    await until(() => source.state.stopped !== undefined)
    await expect(collect(started)).rejects.toThrow('The export has ended. Request it again.')
  })

  it('ends at its maximum age, even if a client still reads it', async () => {
    const exports = createRunningExports(directory, { diskBytes: 2_000, idleMs: 60_000, maxAgeMs: 300 })
    const source = gatedSource(1)
    const started = await startWith(exports, source)
    started.attach()
    const trickle = started.spool.read(0, never)
    expect((await trickle.next()).value!.length).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await expect(trickle.next()).rejects.toThrow('The export has ended. Request it again.')
    expect(exports.find('a', undefined)).toBeUndefined()
    // Its disk space is free again.
    await until(async () => {
      const again = await startWith(exports, gatedSource(1)).catch(() => undefined)
      return again && (await collect(again)) === 1_000
    })
  })

  it('is cancelled if its client disconnects before the first byte', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 60_000, maxAgeMs: 60_000 })
    const disconnected = new AbortController()
    let isStopped = false
    async function* silent(signal: AbortSignal) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      isStopped = true
      yield Buffer.alloc(1)
    }
    const started = exports.start({ client: 'a', key: 'a', signal: disconnected.signal, read: silent })
    const reason = new Error('the client left')
    disconnected.abort(reason)
    await expect(started).rejects.toBe(reason)
    await until(() => isStopped)
    expect(exports.find('a', undefined)).toBeUndefined()
  })

  it('is not started for a client that has disconnected before', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 60_000, maxAgeMs: 60_000 })
    const reason = new Error('the client left')
    const source = gatedSource(1)
    const started = exports.start({ client: 'a', key: 'a', signal: AbortSignal.abort(reason), read: source.read })
    await expect(started).rejects.toBe(reason)
    expect(source.state.read).toBe(0)
  })

  it('is found by its key alone only while no other export has the same key', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 60_000, maxAgeMs: 60_000 })
    const first = await startWith(exports, gatedSource(1))
    expect(exports.find('a', undefined)).toBe(first)
    const second = await startWith(exports, gatedSource(1))
    expect(exports.find('a', undefined)).toBeUndefined()
    expect(exports.find('a', first.spool.id)).toBe(first)
    expect(exports.find('a', second.spool.id)).toBe(second)
  })

  it('throws the error of its source: at the start before the first byte, afterwards to the clients that read it', async () => {
    const exports = createRunningExports(directory, { diskBytes: 1e9, idleMs: 60_000, maxAgeMs: 60_000 })
    const failure = new Error('the warehouse went away')
    async function* failing(bytes: number) {
      if (bytes > 0) yield Buffer.alloc(bytes)
      throw failure
    }
    await expect(exports.start({ client: 'a', key: 'none', signal: never, read: () => failing(0) })).rejects.toBe(
      failure,
    )
    const started = await exports.start({ client: 'a', key: 'some', signal: never, read: () => failing(10) })
    await expect(collect(started)).rejects.toBe(failure)
    await expect(started.spool.size()).rejects.toBe(failure)
  })
})

describe('the disk space of exports', () => {
  it('is shared by organisations, so that one alone gets half of it', async () => {
    const exports = createRunningExports(directory, { diskBytes: 10_000, idleMs: 0, maxAgeMs: 60_000 })
    const big = gatedSource(100)
    const started = await startWith(exports, big, 'a', 'first')
    big.more()
    await expect(collect(started)).rejects.toMatchObject({ status: 503, code: 'busy' })
    await expect(startWith(exports, gatedSource(1), 'a', 'second')).rejects.toMatchObject({ status: 503 })
    expect(await collect(await startWith(exports, gatedSource(1), 'b'))).toBe(1_000)
    started.attach().detach()
    await until(async () => {
      const again = await startWith(exports, gatedSource(1), 'a', 'third').catch(() => undefined)
      return again && (await collect(again)) === 1_000
    })
  })
})
