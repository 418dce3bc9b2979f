import { execFile } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from '@jest/globals'
import { defaultDelimitedLimits } from '../../delimited/limits.ts'
import { type ReadReporter, SourceProblem } from '@sluice/row-stream'
import { csvSource } from '../csv-source.ts'
import { startReaderThread } from '../../start-reader-thread.ts'
import type { CsvThreadJob } from '../csv-thread-job.ts'
import { chunksOf, inputFolder, readThroughThread } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const silent: ReadReporter = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}
const never = new AbortController().signal
const threads = () => process.getActiveResourcesInfo().filter((resource) => resource === 'MessagePort').length

/** About 30 bytes a row. */
function manyRows(megabytes: number): string {
  const row = '1234567,Ouagadougou,0.125,true\n'
  const block = Buffer.from(row.repeat(32 * 1024))
  const path = folder.write('id,place,share,ok\n')
  for (let bytes = 0; bytes < megabytes * 1e6; bytes += block.length) appendFileSync(path, block)
  return path
}

/** The most bytes of memory that a process of its own needs to read a file. */
async function peakMemory(path: string): Promise<number> {
  const program = join(import.meta.dirname, 'measure-read-memory.ts')
  return Number((await promisify(execFile)(process.execPath, [program, path])).stdout)
}

describe('the CSV source', () => {
  it('yields one table, and reports the detected dialect, rejected rows and progress', async () => {
    const path = folder.write('Id;Größe (m);seen\n1;1.75;2024-02-29\nx\n2;;2024-03-01\n')
    const { table, columns, rows, rejected, logs, progress } = await readThroughThread({ path })
    expect(table).toBe('')
    expect(columns).toEqual([
      { name: 'id', label: 'Id', dataType: 'SMALLINT' },
      { name: 'grosse_m', label: 'Größe (m)', dataType: 'DECIMAL', precision: 3, scale: 2 },
      { name: 'seen', label: 'seen', dataType: 'DATE' },
    ])
    expect(rows.map((row) => row.map((value) => value?.toString('hex') ?? null))).toEqual([
      ['0001', '000200000000000200011d4c', '00002279'],
      ['0002', null, '0000227a'],
    ])
    expect(rejected).toEqual([
      {
        line: 3,
        reason: '1 value where the header has 3: something is missing, or the row was broken into two lines',
        raw: 'x',
      },
    ])
    expect(logs).toEqual([
      'INFO LOW Read input.csv as UTF-8, delimiter “;”, header in line 1, 3 columns: id SMALLINT, grosse_m DECIMAL(3,2), seen DATE',
    ])
    const bytes = readFileSync(path).length
    expect(progress.at(-1)).toEqual({ bytesRead: bytes, bytesTotal: bytes, rowsRead: 3 })
  })

  it('reports increasing progress up to the size of the file', async () => {
    const { progress, rows } = await readThroughThread({ path: manyRows(20) })
    const bytes = progress.map(({ bytesRead }) => bytesRead!)
    expect(bytes).toEqual(bytes.toSorted((a, b) => a - b))
    expect(progress.at(-1)).toEqual({ bytesRead: bytes.at(-1), bytesTotal: bytes.at(-1), rowsRead: rows.length })
  })

  it('reports every rejected row, however many there are', async () => {
    const path = folder.write(`a,b\n${'x\n'.repeat(5000)}`)
    const config = { path, delimiter: 'COMMA', headerRow: true, headerLines: 1, skipLines: 0 }
    const { rejected, progress } = await readThroughThread(config, { chunksInFlight: 1 })
    expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: 5000 }, (_, index) => index + 2))
    expect(progress.at(-1)!.rowsRead).toBe(5000)
  })

  it('throws a SourceProblem that names the file and not its path', async () => {
    const failure = await readThroughThread({ path: '/nowhere/0815' }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(SourceProblem)
    const { code, message, cause } = failure as SourceProblem
    expect([code, message]).toEqual(['FILE_NOT_FOUND', 'input.csv no longer exists on the server; upload it again.'])
    expect(String(cause)).toContain('ENOENT')
  })

  it('throws a SourceProblem when the file changes between the passes', async () => {
    const path = folder.write('a,b\n1,2\n')
    const read = async () => {
      for await (const rowStream of csvSource.read({ path, fileName: 'input.csv' }, silent, never)) {
        appendFileSync(path, 'x,y\n')
        await Array.fromAsync(chunksOf(rowStream))
      }
    }
    await expect(read()).rejects.toMatchObject({ code: 'FILE_CHANGED' })
  })

  it('throws an error with the original cause if the thread fails', async () => {
    const failure = readThroughThread({ path: folder.write('a\n1\n') }, { chunkBytes: 2 ** 52 })
    await expect(failure).rejects.toMatchObject({
      message: 'Reading input.csv failed',
      cause: { name: 'RangeError' },
    })
  })
})

describe('the reader thread', () => {
  it('waits while the allowed number of chunks is not released', async () => {
    const job: CsvThreadJob = {
      file: manyRows(1),
      fileName: 'input.csv',
      options: { headerRow: true },
      limits: { ...defaultDelimitedLimits, chunkBytes: 4096, chunksInFlight: 3 },
    }
    await using thread = startReaderThread('csv', job, { reading: 'input.csv' }, never)
    const chunk = async () => {
      for (;;) {
        const message = await thread.receive()
        if (message.kind === 'chunk') return message
      }
    }
    const types = ['INTEGER', 'TEXT', 'DECIMAL', 'BOOLEAN'] as const
    thread.send({ kind: 'encode', types: types.map((dataType) => ({ dataType })) })
    const { memory, pass } = await chunk()
    for (let chunks = 1; chunks < 3; chunks++) expect((await chunk()).length).toBeGreaterThan(0)
    const fourth = chunk()
    expect(await Promise.race([fourth, pause(300, 'nothing')])).toBe('nothing')
    thread.send({ kind: 'release', memory, pass }, [memory])
    expect((await fourth).length).toBeGreaterThan(0)
  })

  it('ends when the signal aborts, in either pass', async () => {
    const path = manyRows(60)
    const before = threads()
    for (const afterChunks of [0, 3]) {
      const abort = new AbortController()
      const reason = new Error('cancelled')
      let aborted = 0
      const read = async () => {
        if (afterChunks === 0) setTimeout(() => abort.abort(reason), 100)
        for await (const rowStream of csvSource.read({ path, fileName: 'x' }, silent, abort.signal)) {
          let chunks = 0
          for await (const _ of chunksOf(rowStream)) if (++chunks === afterChunks) abort.abort(reason)
        }
      }
      abort.signal.addEventListener('abort', () => {
        aborted = performance.now()
      })
      await expect(read()).rejects.toBe(reason)
      expect(performance.now() - aborted).toBeLessThan(10_000)
    }
    expect(threads()).toBe(before)
  })

  it('is not started when the signal has aborted before', async () => {
    const before = threads()
    await expect(
      readThroughThread({ path: folder.write('a\n') }, {}, AbortSignal.abort(new Error('no'))),
    ).rejects.toThrow('no')
    expect(threads()).toBe(before)
  })

  it('ends when the consumer stops before or during the chunks', async () => {
    const path = manyRows(20)
    const before = threads()
    for await (const _ of csvSource.read({ path, fileName: 'x' }, silent, never)) break
    expect(threads()).toBe(before)
    for await (const rowStream of csvSource.read({ path, fileName: 'x' }, silent, never)) {
      for await (const _ of chunksOf(rowStream)) break
      expect(threads()).toBe(before)
    }
    expect(threads()).toBe(before)
  })

  it('needs less than 150 MB of additional memory for a file of 200 MB', async () => {
    const small = await peakMemory(folder.write('a\n1\n'))
    expect((await peakMemory(manyRows(200))) - small).toBeLessThan(150e6)
  })
})
