import { closeSync, openSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { makeWorkbook } from '../upload/test/make-workbook.ts'
import { makeZip, type ZipEntry } from '../upload/test/make-zip.ts'
import { uploadFolder } from '../upload/test/open-upload-from-bytes.ts'
import { FileBytes } from '../spool/byte-source.ts'
import { defaultUploadLimits } from '../spool/upload-limits.ts'
import { gunzipFile } from './decompress.ts'

const folder = uploadFolder()
afterAll(() => folder[Symbol.dispose]())

const csv = 'a,b\n1,2\n'
const zipped = (...entries: ZipEntry[]) => makeZip(entries)

describe('gzip', () => {
  it('is unpacked with all of its members, for any chunk size', async () => {
    const bytes = Buffer.concat([gzipSync(csv), gzipSync('3,4\n'), gzipSync(''), gzipSync('5,6\n'), Buffer.alloc(1000)])
    for (const chunkBytes of [64, 65, 71, 256 * 1024]) {
      const opened = await folder.open('a.csv.gz', bytes, { limits: { chunkBytes } })
      expect(opened).toMatchObject({
        text: 'a,b\n1,2\n3,4\n5,6\n',
        how: 'a.csv.gz is gzip holding UTF-8 text.',
        inPlace: false,
      })
    }
  })

  it('is unpacked without loss at every compression level', async () => {
    const text = Buffer.from(Array.from({ length: 400_000 }, (_, row) => `${row},${row % 977}\n`).join(''))
    for (const level of [1, 6, 9]) {
      const gz = await folder.open('a.csv.gz', gzipSync(text, { level }))
      expect(gz.bytes.equals(text)).toBe(true)
    }
    expect((await folder.open('a.zip', zipped({ name: 'a.csv', content: text }))).bytes.equals(text)).toBe(true)
    const accents = text.toString().replaceAll('7', 'é')
    const latin1 = gzipSync(Buffer.from(accents, 'latin1'))
    expect((await folder.open('a.gz', latin1, { options: { encoding: 'iso-8859-1' } })).text === accents).toBe(true)
  })

  it('may contain UTF-16 text, JSON, Parquet or a workbook', async () => {
    expect((await folder.open('a.gz', gzipSync(Buffer.from('\ufeffä,b\n', 'utf16le')))).text).toBe('ä,b\n')
    expect((await folder.open('a.gz', gzipSync('[{"a":1}]'))).text).toBe('"a"\n1\n')
    const parquet = Buffer.concat([Buffer.from('PAR1\x15\x04\x15\0'), Buffer.alloc(100), Buffer.from('PAR1')])
    expect(await folder.open('a.gz', gzipSync(parquet))).toMatchObject({ format: 'PARQUET', bytes: parquet })
    const workbook = makeWorkbook({ sheets: { One: '<row><c><v>1</v></c></row>' } })
    expect((await folder.open('a.gz', gzipSync(workbook))).text).toBe('1\n')
  })

  it('is unpacked in the memory of a few chunks', async () => {
    const path = join(folder.path, 'large.gz')
    const unpackedBytes = 32 * 1024 * 1024
    writeFileSync(path, gzipSync(Buffer.from('0,1,2,3,4\n'.repeat(unpackedBytes / 10)), { level: 1 }))
    const descriptor = openSync(path, 'r')
    const { chunkBytes } = defaultUploadLimits
    const file = new FileBytes(descriptor, 0, statSync(path).size, chunkBytes)
    const heldBefore = process.memoryUsage().arrayBuffers
    let maxHeld = 0
    for await (const _ of gunzipFile(file, 'large.gz', defaultUploadLimits).chunks())
      maxHeld = Math.max(maxHeld, process.memoryUsage().arrayBuffers - heldBefore)
    closeSync(descriptor)
    expect(maxHeld).toBeLessThan(8 * chunkBytes)
  })

  it('is rejected if it is truncated, damaged or followed by other data', async () => {
    const whole = gzipSync(csv.repeat(1000))
    const broken = Buffer.from(whole)
    broken[broken.length - 6]! ^= 1
    const tried = [whole.subarray(0, -1), whole.subarray(0, 40), broken, Buffer.concat([whole, Buffer.from('more')])]
    for (const bytes of tried) {
      await expect(folder.open('a.gz', bytes)).rejects.toMatchObject({
        code: 'ARCHIVE_DAMAGED',
        message: expect.stringMatching(/^a\.gz /),
      })
    }
  })

  it('is rejected inside of gzip', async () => {
    await expect(folder.open('a.gz', gzipSync(gzipSync(csv)))).rejects.toMatchObject({ code: 'ARCHIVE_NESTED' })
  })
})

describe('decompression bombs', () => {
  it('are rejected by the compression ratio if they exceed a minimum size', async () => {
    const bytes = gzipSync(Buffer.alloc(3_000_000))
    const limits = { ratioFrom: 1_000_000, chunkBytes: 4096 }
    await expect(folder.open('a.gz', bytes, { limits })).rejects.toMatchObject({ code: 'SUSPICIOUS_ARCHIVE' })
    expect((await folder.open('a.gz', bytes)).bytes).toHaveLength(3_000_000)
  })

  it('are rejected above the size limit', async () => {
    const limits = { spoolBytes: 1_000_000 }
    const expected = {
      code: 'TOO_LARGE',
      message: 'a.gz is larger than 1 MB after unpacking. Load it in parts.',
    }
    await expect(folder.open('a.gz', gzipSync(Buffer.alloc(1_000_001)), { limits })).rejects.toMatchObject(expected)
    const utf16 = Buffer.from(`\ufeff${'€'.repeat(400_000)}`, 'utf16le')
    await expect(folder.open('a.csv', utf16, { limits })).rejects.toMatchObject({ code: 'TOO_LARGE' })
  })

  it('are rejected by the compression ratio also in ZIP entries and workbook parts', async () => {
    const limits = { ratioFrom: 1_000_000, chunkBytes: 4096 }
    const zip = zipped({ name: 'a.csv', content: Buffer.alloc(3_000_000, 'a,b\n') })
    await expect(folder.open('a.zip', zip, { limits })).rejects.toMatchObject({ code: 'SUSPICIOUS_ARCHIVE' })
    const workbook = makeWorkbook({ sheets: { One: '<row/>'.repeat(500_000) } })
    await expect(folder.open('a.xlsx', workbook, { limits })).rejects.toMatchObject({ code: 'SUSPICIOUS_ARCHIVE' })
  })

  it('are rejected if a ZIP archive has too many entries', async () => {
    const zip = makeZip([{ name: 'a.csv', content: csv }], { count: 60_000 })
    await expect(folder.open('a.zip', zip)).rejects.toMatchObject({ code: 'ARCHIVE_TOO_MANY_ENTRIES' })
  })
})

describe('a ZIP archive', () => {
  it('with one file is read as that file', async () => {
    const zip = zipped(
      { name: 'data/', content: '', method: 0 },
      { name: 'data/a.csv', content: csv },
      { name: '__MACOSX/._a.csv', content: 'x' },
    )
    expect(await folder.open('a.zip', zip)).toMatchObject({
      text: csv,
      how: 'a.zip is a ZIP archive with data/a.csv holding UTF-8 text.',
    })
    expect((await folder.open('a.zip', zipped({ name: 'a.csv', content: csv, method: 0 }))).text).toBe(csv)
    expect((await folder.open('a.zip', zipped({ name: 'a.csv', content: csv, zip64: true }))).text).toBe(csv)
  })

  it('with several files is read as the only one with rows, or as the configured entry', async () => {
    const zip = zipped(
      { name: 'README.txt', content: 'Hello, you.\nThis is a text.\n' },
      { name: 'a.csv', content: csv },
      { name: 'x.pdf', content: '%PDF-1.7' },
    )
    expect((await folder.open('a.zip', zip)).text).toBe(csv)
    const two = zipped({ name: 'a.csv', content: csv }, { name: 'b.ndjson', content: '{"x":1}\n' })
    await expect(folder.open('a.zip', two)).rejects.toMatchObject({
      code: 'ENTRY_AMBIGUOUS',
      message: expect.stringContaining('a.csv, b.ndjson'),
    })
    expect((await folder.open('a.zip', two, { options: { entry: 'b.ndjson' } })).text).toBe('"x"\n1\n')
    await expect(folder.open('a.zip', two, { options: { entry: 'c' } })).rejects.toMatchObject({
      code: 'ENTRY_NOT_FOUND',
    })
  })

  it('may contain a workbook, but no other archive', async () => {
    const workbook = makeWorkbook({ sheets: { One: '<row><c><v>1</v></c></row>' } })
    expect((await folder.open('a.zip', zipped({ name: 'a.xlsx', content: workbook }))).text).toBe('1\n')
    for (const content of [zipped({ name: 'a.csv', content: csv }), gzipSync(csv)]) {
      await expect(folder.open('a.zip', zipped({ name: 'b', content }))).rejects.toMatchObject({
        code: 'ARCHIVE_NESTED',
      })
    }
  })

  it.each(['../a.csv', 'a/../../b.csv', '/etc/passwd', 'C:\\a.csv', '..\\a.csv'])(
    'is rejected if it has an entry called %s',
    async (name) => {
      await expect(folder.open('a.zip', zipped({ name, content: csv }))).rejects.toMatchObject({
        code: 'SUSPICIOUS_ARCHIVE',
      })
    },
  )

  it('is rejected if its sizes or checksums are wrong, or if it is truncated', async () => {
    const damaged = { code: 'ARCHIVE_DAMAGED' }
    await expect(folder.open('a.zip', zipped({ name: 'a.csv', content: csv, size: 3 }))).rejects.toMatchObject(damaged)
    await expect(folder.open('a.zip', zipped({ name: 'a.csv', content: csv, size: 99 }))).rejects.toMatchObject(damaged)
    await expect(folder.open('a.zip', zipped({ name: 'a.csv', content: csv, sum: 1 }))).rejects.toMatchObject(damaged)
    await expect(folder.open('a.zip', zipped({ name: 'a.csv', content: csv }).subarray(0, -4))).rejects.toMatchObject(
      damaged,
    )
    await expect(folder.open('a.zip', Buffer.from('PK\x03\x04 and no more'))).rejects.toMatchObject(damaged)
  })

  it('is rejected if it is encrypted, empty or uses an unsupported method', async () => {
    await expect(folder.open('a.zip', zipped({ name: 'a.csv', content: csv, flags: 1 }))).rejects.toMatchObject({
      code: 'ARCHIVE_ENCRYPTED',
    })
    await expect(folder.open('a.zip', zipped({ name: 'a.csv', content: csv, method: 14 }))).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
    })
    await expect(folder.open('a.zip', makeZip([]))).rejects.toMatchObject({ code: 'ARCHIVE_EMPTY' })
  })
})
