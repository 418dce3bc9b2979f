import { existsSync, readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import { until } from '@sluice/testing/wait-until'
import { uploadFolder } from './test/open-upload-from-bytes.ts'
import { makeWorkbook } from './test/make-workbook.ts'
import { makeZip } from './test/make-zip.ts'
import { recordThreads } from '@sluice/testing/record-created-threads'
import { defaultUploadLimits } from '../spool/upload-limits.ts'
import { keepReaderThread } from '../start-reader-thread.ts'

const folder = uploadFolder()
afterAll(() => folder[Symbol.dispose]())

const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`
const workbook = makeWorkbook({
  sheets: { One: `<row r="1">${cell('id')}${cell('name')}</row><row r="2"><c><v>1</v></c></row>` },
})
const uploads = {
  'rows.json': '[{"id":1,"name":"Oslo"},{"id":2}]',
  'lines.ndjson': '{"other":true}\nnot JSON\n{"other":false,"id":7}\n',
  'book.xlsx': workbook,
  'book.xlsx.gz': gzipSync(workbook),
  'packed.csv.gz': gzipSync('a,b\n1,2\n'),
  'packed.zip': makeZip([{ name: 'cases.csv', content: 'c\n3\n' }]),
}
const names = Object.keys(uploads) as (keyof typeof uploads)[]

const open = async (name: keyof typeof uploads) => {
  const { text, how, rejected, dialect } = await folder.open(name, Buffer.from(uploads[name]))
  return { text, how, rejected, dialect }
}

/** Returns the next thread id; ids count the threads created so far. */
async function nextThreadId(): Promise<number> {
  const thread = new Worker('', { eval: true })
  const { threadId } = thread
  await thread.terminate()
  return threadId
}

describe('a reader thread that is kept for the next upload', () => {
  it('gives the same results as a new thread, and is reused', async () => {
    const alone = new Map<string, unknown>()
    for (const name of names) alone.set(name, await open(name))
    using _kept = keepReaderThread('convert')
    await open('rows.json')
    const before = await nextThreadId()
    for (const name of [...names, ...names.toReversed(), ...names]) expect(await open(name)).toEqual(alone.get(name))
    expect((await nextThreadId()) - before).toBe(1)
  })

  itUnless(existsSync('/proc/self/fd') ? undefined : 'needs /proc')('does not keep files open', async () => {
    using _kept = keepReaderThread('convert')
    await open('book.xlsx.gz')
    const before = readdirSync('/proc/self/fd').length
    for (const name of names) await open(name)
    // Other work of the test process may have a file open for a moment.
    await until(() => readdirSync('/proc/self/fd').length <= before, { within: 10_000 })
    expect(folder.leftovers()).toEqual([])
  })

  it('ends after an unreadable upload, whose error names the file', async () => {
    using recorded = recordThreads('convert')
    using _kept = keepReaderThread('convert')
    const cut = uploads['packed.csv.gz'].subarray(0, -1)
    for (let times = 0; times < 2; times++) await expect(folder.open('cut.gz', cut)).rejects.toThrow('cut.gz')
    await until(() => recorded.countRunning() === 0, { within: 30_000 })
    expect(recorded.countCreated()).toBe(2)
    expect(await open('rows.json')).toMatchObject({ text: expect.stringContaining('Oslo') })
  })

  it('is reused after a large upload of short records', async () => {
    using _kept = keepReaderThread('convert')
    await open('rows.json')
    const before = await nextThreadId()
    await folder.open('large.ndjson', '{"id":1,"name":"Oslo"}\n'.repeat(300_000))
    await open('rows.json')
    expect((await nextThreadId()) - before).toBe(1)
  })

  it('ends after an upload that leaves much in its memory, and is not used for other memory limits', async () => {
    using recorded = recordThreads('convert')
    using _kept = keepReaderThread('convert')
    await open('rows.json')
    const before = await nextThreadId()
    await folder.open('long.json', `[{"id":1},{"id":2,"name":"${'Oslo'.repeat(3_900_000)}"}]`)
    await open('rows.json')
    expect((await nextThreadId()) - before).toBe(2)
    await until(() => recorded.countRunning() === 1, { within: 30_000 })
    await folder.open('rows.json', uploads['rows.json'], { limits: { ...defaultUploadLimits, heapMegabytes: 20 } })
    expect((await nextThreadId()) - before).toBe(4)
  })

  it('starts with the first upload, and ends when its last holder is disposed of', async () => {
    using recorded = recordThreads('convert')
    const before = await nextThreadId()
    const kept = keepReaderThread('convert')
    expect((await nextThreadId()) - before).toBe(1)
    await open('rows.json')
    await open('rows.json')
    expect((await nextThreadId()) - before).toBe(3)
    kept[Symbol.dispose]()
    await until(() => recorded.countRunning() === 0, { within: 30_000 })
    await open('rows.json')
    expect((await nextThreadId()) - before).toBe(5)
  })
})
