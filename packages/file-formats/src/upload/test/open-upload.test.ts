import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { SourceProblem } from '@sluice/row-stream'
import { itUnless } from '@sluice/testing/skip-tests'
import { openUpload } from '../open-upload.ts'
import { defaultUploadLimits } from '../../spool/upload-limits.ts'
import { openSpool } from '../../spool/spool-file.ts'
import { SpoolWriter } from '../../spool/spool-writer.ts'
import { makeWorkbook } from './make-workbook.ts'
import { contentOf, uploadFolder } from './open-upload-from-bytes.ts'

const folder = uploadFolder()
afterAll(() => folder[Symbol.dispose]())

const never = new AbortController().signal

function file(name: string, bytes: Uint8Array | string): { path: string; name: string; filesDirectory: string } {
  const path = join(folder.path, name)
  writeFileSync(path, bytes)
  return { path, name, filesDirectory: folder.path }
}

/** Returns the path of an open file; empty if it was closed in the meantime. */
function readLinkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return ''
  }
}

describe('opening an upload', () => {
  it('reads plain text and Parquet in place', async () => {
    expect(await folder.open('a.csv', 'a,b\n')).toMatchObject({
      inPlace: true,
      format: 'DELIMITED',
      how: 'a.csv is UTF-8 text.',
    })
    expect(await folder.open('a.csv', '')).toMatchObject({ inPlace: true, text: '' })
    expect(await folder.open('a', Buffer.from('PAR1\x15\0'))).toMatchObject({ inPlace: true, format: 'PARQUET' })
    expect(await folder.open('a.csv', 'PAR1,PAR2,PAR3\n1,2,3\n')).toMatchObject({ format: 'DELIMITED' })
    expect(await folder.open('a.csv', 'ORCID,[id],{x}\n1,2,3\n')).toMatchObject({ format: 'DELIMITED' })
  })

  it('leaves no spool file behind after success or failure', async () => {
    await folder.open('a.gz', gzipSync('a,b\n1,2\n'))
    await expect(folder.open('a.gz', gzipSync('a,b\n').subarray(0, -1))).rejects.toThrow(SourceProblem)
    expect(folder.leftovers()).toEqual([])
  })

  itUnless(existsSync('/proc/self/fd') ? undefined : 'needs /proc')('closes every descriptor', async () => {
    // Other descriptors of this process open and close at any time.
    const countOpenFiles = () =>
      readdirSync('/proc/self/fd').filter((descriptor) => readLinkOf(descriptor).startsWith(folder.path)).length
    await folder.open('a.gz', gzipSync('a,b\n1,2\n'))
    await folder.open('a.json', '{"a":1}\nx\n')
    await expect(folder.open('a.gz', gzipSync('a,b\n').subarray(0, -1))).rejects.toThrow(SourceProblem)
    expect(countOpenFiles()).toBe(0)
  })

  it('reports increasing progress up to the size of the file', async () => {
    const told: [number, number][] = []
    const bytes = Buffer.from(`\ufeff${'some text,1\n'.repeat(200_000)}`, 'utf16le')
    const upload = { ...file('big.csv', bytes), onProgress: (...progress: [number, number]) => told.push(progress) }
    using opened = await openUpload(upload, never)
    expect(told.at(-1)).toEqual([bytes.length, bytes.length])
    expect(told.map(([read]) => read)).toEqual(told.map(([read]) => read).toSorted((a, b) => a - b))
    expect(contentOf(opened)).toHaveLength(2_400_000)
  })

  it('stops when it is aborted, and leaves no spool file behind', async () => {
    const bytes = Buffer.concat(Array.from({ length: 40 }, () => gzipSync(Buffer.alloc(10_000_000, 'some text,1\n'))))
    const upload = file('slow.gz', bytes)
    const stop = new AbortController()
    const opening = openUpload({ ...upload, limits: { ...defaultUploadLimits, ratio: 2000 } }, stop.signal)
    const reason = new Error('no more')
    setTimeout(() => stop.abort(reason), 150)
    const started = performance.now()
    await expect(opening).rejects.toBe(reason)
    expect(performance.now() - started).toBeLessThan(20_000)
    expect(folder.leftovers()).toEqual([])
    await expect(openUpload(upload, AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  it('unpacks little more than the requested first bytes', async () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => `{"id":${index},"text":"some text to fill it"}`)
    const lines = rows.join('\n')
    const sheet = Array.from({ length: 100_000 }, (_, index) => `<row><c><v>${index}</v></c></row>`).join('')
    const uploads = [
      ['a.gz', gzipSync(lines.replaceAll('{', '[')), 300_000],
      ['a.json', Buffer.from(`[${rows.join()}]`), 200_000],
      ['a.ndjson', Buffer.from(lines), 200_000],
      ['a.xlsx', makeWorkbook({ sheets: { One: sheet } }), 100_000],
    ] as const
    for (const [name, bytes, most] of uploads) {
      using opened = await openUpload({ ...file(name, bytes), firstBytes: 100_000 }, never)
      expect(opened.complete).toBe(false)
      expect(opened.file.size).toBeGreaterThan(10_000)
      expect(opened.file.size).toBeLessThan(most + 300_000)
      using whole = await openUpload({ ...file(name, bytes), firstBytes: 100_000_000 }, never)
      expect(whole.complete).toBe(true)
      expect(whole.file.size).toBeGreaterThan(opened.file.size)
    }
  })

  it('fails if the upload changes during the read', async () => {
    const upload = file(
      'changing.gz',
      Buffer.concat(Array.from({ length: 20 }, () => gzipSync(Buffer.alloc(10_000_000, 'a,b\n')))),
    )
    const opening = openUpload({ ...upload, limits: { ...defaultUploadLimits, ratio: 2000 } }, never)
    truncateSync(upload.path, statSync(upload.path).size - 1)
    await expect(opening).rejects.toMatchObject({ code: expect.stringMatching(/^(FILE_CHANGED|ARCHIVE_DAMAGED)$/) })
  })

  it('keeps the first 10,000 rejected rows, counts all, and returns them repeatedly in batches', async () => {
    using opened = await openUpload(file('bad.ndjson', `{"a":1}\n${'broken "ä"\n'.repeat(50_000)}`), never)
    expect(opened).toMatchObject({ rejected: 50_000, written: 1 })
    for (const _ of [1, 2]) {
      const batches = await Array.fromAsync(opened.rejects())
      const kept = batches.flat()
      expect(batches.length).toBeGreaterThan(5)
      expect([kept.length, kept[0], kept.at(-1)]).toEqual([
        10_000,
        { line: 2, reason: 'is not a JSON object', raw: 'broken "ä"' },
        { line: 10_001, reason: 'is not a JSON object', raw: 'broken "ä"' },
      ])
    }
  })

  it('fails with FILE_TOO_DENSE if an upload exceeds the memory limit', async () => {
    const keys = Array.from({ length: 1000 }, (_, index) => `"${'k'.repeat(14_000)}${index}":1`)
    const limits = { heapMegabytes: 20 }
    expect(await folder.open('small.json', '[{"k":1}]', { limits })).toMatchObject({ text: '"k"\n1\n' })
    const opening = folder.open('wide.json', `[{${keys.join()}}]`, { limits })
    await expect(opening).rejects.toMatchObject({
      name: 'SourceProblem',
      code: 'FILE_TOO_DENSE',
      message: expect.stringMatching(/^wide\.json needs more memory/),
    })
    expect(folder.leftovers()).toEqual([])
  })

  it.each([
    ['%PDF-1.7', 'PDF'],
    ['7z\xbc\xaf\x27\x1c', '7z'],
    ['<!DOCTYPE html><html>', 'web page'],
    ['\ufeff <?xml version="1.0"?>', 'XML'],
    ['SQLite format 3\0', 'SQLite'],
    [`${'x'.repeat(257)}ustar`, 'tar'],
  ])('rejects a format without rows: %s', async (start, kind) => {
    const bytes = Buffer.from(start, start.startsWith('\ufeff') ? 'utf8' : 'latin1')
    await expect(folder.open('a.csv', bytes)).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
      message: expect.stringContaining(kind),
    })
  })

  it('fails if the file does not exist or cannot be read', async () => {
    const upload = { path: join(folder.path, 'none'), name: 'a.csv', filesDirectory: folder.path }
    await expect(openUpload(upload, never)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    await expect(openUpload({ ...upload, path: folder.path }, never)).rejects.toMatchObject({
      code: 'FILE_NOT_READABLE',
    })
  })
})

describe('a spool file', () => {
  it('is in a directory that only its owner may access, and that is emptied of leftovers', () => {
    const directory = join(folder.path, 'spool')
    writeFileSync(join(directory, 'left'), 'x')
    const descriptor = openSpool(directory)
    expect(readdirSync(directory)).toEqual([])
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    closeSync(descriptor)
  })

  itUnless(existsSync('/dev/full') ? undefined : 'needs /dev/full')('fails with DISK_FULL if the disk is full', () => {
    const descriptor = openSync('/dev/full', 'w')
    const writer = new SpoolWriter(descriptor, 1e9, 'a.gz')
    writer.put(Buffer.from('some text'))
    expect(() => writer.flush()).toThrow(expect.objectContaining({ code: 'DISK_FULL' }))
    closeSync(descriptor)
  })

  it('fails with SPOOL_NOT_WRITABLE if it cannot be created', () => {
    const path = join(folder.path, 'plain')
    writeFileSync(path, '')
    expect(() => openSpool(join(path, 'spool'))).toThrow(expect.objectContaining({ code: 'SPOOL_NOT_WRITABLE' }))
  })
})
