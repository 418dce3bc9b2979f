import { closeSync, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { written } from '../../parquet/test/write-parquet-files.ts'
import { defaultUploadLimits } from '../../spool/upload-limits.ts'
import { makeWorkbook } from './make-workbook.ts'
import { makeZip } from './make-zip.ts'
import { readParquetUpload, readUpload } from '../read-upload.ts'
import type { RowStream, ReadReporter } from '@sluice/row-stream'

const folder = mkdtempSync(join(tmpdir(), 'sluice-parquet-upload-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const never = new AbortController().signal
const numbers = Array.from({ length: 5000 }, (_, index) => index)
const parquet = written({ id: { element: { type: 'INT32' }, data: numbers } })

function upload(name: string, bytes: Uint8Array | string) {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return { path, name, filesDirectory: folder }
}

async function read(rowStreams: (report: ReadReporter) => AsyncIterable<RowStream>) {
  const logs: string[] = []
  const progress: { bytesRead?: number; bytesTotal?: number }[] = []
  const report: ReadReporter = {
    progress: (totals) => void progress.push(totals),
    reject: () => {},
    rejectMore: () => {},
    startOver: async () => {},
    log: (_level, _importance, message) => void logs.push(message),
  }
  let sum = 0
  for await (const { columns, content } of rowStreams(report)) {
    for await (const chunk of content.rows(columns)) {
      sum += chunk.bytes.length
      chunk.release?.()
    }
  }
  return { bytes: sum, logs, last: progress.at(-1) }
}

const asParquet = (name: string, bytes: Uint8Array | string) => {
  const file = upload(name, bytes)
  return read((report) => readParquetUpload(file, report, never))
}

/** Returns the number of descriptors of files in the test's folder, including deleted files. */
const countOpenFiles = (): number =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(folder)
    } catch {
      // The descriptor of this listing, or of another thread, is closed by now.
      return false
    }
  }).length

describe('an uploaded Parquet file', () => {
  it('is read in place, and from gzip and ZIP', async () => {
    const plain = await asParquet('a.parquet', parquet)
    expect(plain.bytes).toBe(5000 * (2 + 4 + 4))
    const packed = { 'a.gz': gzipSync(parquet), 'a.zip': makeZip([{ name: 'in/a.parquet', content: parquet }]) }
    for (const [name, bytes] of Object.entries(packed)) {
      const { bytes: rows, logs, last } = await asParquet(name, bytes)
      expect(rows).toBe(plain.bytes)
      expect(logs[0]).toMatch(/ holding Parquet\.$/)
      expect(last).toMatchObject({ bytesRead: bytes.length, bytesTotal: bytes.length, rowsRead: 5000 })
    }
    expect(readdirSync(join(folder, 'spool'))).toEqual([])
  })

  it('leaves no descriptor open', async () => {
    expect(countOpenFiles()).toBe(0)
    const descriptor = openSync(upload('counted', '').path, 'r')
    expect(countOpenFiles()).toBe(1)
    closeSync(descriptor)
    await asParquet('a.gz', gzipSync(parquet))
    await expect(asParquet('b.gz', gzipSync(parquet.subarray(0, -1)))).rejects.toMatchObject({ name: 'SourceProblem' })
    expect(countOpenFiles()).toBe(0)
  })

  it.each([
    ['text.csv', Buffer.from('a,b\n')],
    ['text.gz', gzipSync('a,b\n1,2\n')],
    ['sheet.xlsx', Buffer.from(makeWorkbook({ sheets: { One: '<row><c><v>1</v></c></row>' } }))],
  ])('is rejected if it has another format: %s', async (name, bytes) => {
    await expect(asParquet(name, bytes)).rejects.toMatchObject({
      code: 'NOT_PARQUET',
      message: `${name} is not a Parquet file. Upload a Parquet file, or use a pipeline for the format of this file.`,
    })
    expect(readdirSync(join(folder, 'spool'))).toEqual([])
  })

  it('fails with FILE_MISSING if it does not exist', async () => {
    const gone = { path: join(folder, 'none'), name: 'gone.parquet', filesDirectory: folder }
    await expect(read((report) => readParquetUpload(gone, report, never))).rejects.toMatchObject({
      code: 'FILE_MISSING',
    })
  })
})

describe('a Parquet file uploaded to a pipeline for text', () => {
  it('is rejected before it is unpacked', async () => {
    const large = Buffer.concat([Buffer.from('PAR1\x15\0'), Buffer.alloc(20_000_000)])
    const limits = { ...defaultUploadLimits, spoolBytes: 1_000_000 }
    const uploads = { 'a.parquet': large, 'a.gz': gzipSync(large), 'a.zip': makeZip([{ name: 'b', content: large }]) }
    for (const [name, bytes] of Object.entries(uploads)) {
      const file = { ...upload(name, bytes), limits }
      await expect(read((report) => readUpload(file, {}, report, never))).rejects.toMatchObject({
        code: 'PARQUET_UPLOADED',
      })
    }
  })
})
