import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { describeUnless, itUnless } from '@sluice/testing/skip-tests'
import { written } from '@sluice/file-formats/testing/write-parquet-files'
import { makeZip } from '@sluice/file-formats/testing/make-zip'
import { makeWorkbook } from '@sluice/file-formats/testing/make-workbook'
import { listener, type Loading, never, openLoading, objectStores } from './load-from-store.ts'
import { kindsOfStores, type TestStore } from './object-stores-under-test.ts'
import { changesSuite } from './changed-objects-suite.ts'
import { troubledProxy } from './faulty-proxy.ts'

const workbookRows =
  '<row r="1"><c t="inlineStr"><is><t>id</t></is></c><c t="inlineStr"><is><t>name</t></is></c></row>' +
  '<row r="2"><c><v>1</v></c><c t="inlineStr"><is><t>Oslo</t></is></c></row>' +
  '<row r="3"><c><v>2</v></c><c t="inlineStr"><is><t>Bergen</t></is></c></row>'

const parquet = (ids: number[], names: string[]): Uint8Array =>
  written({
    id: { element: { type: 'INT32' }, data: ids },
    name: { element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' }, data: names },
  })

for (const { name, missing, start, refused, expired, type, isSlow } of kindsOfStores)
  describeUnless(missing)(name, () => {
    let store: TestStore
    let loading: Loading
    const itOfAnyStore = itUnless(isSlow ? longRunOnly : undefined)

    beforeAll(async () => {
      store = await start()
      loading = await openLoading()
    })
    afterAll(async () => {
      await loading?.[Symbol.asyncDispose]()
      await store?.[Symbol.asyncDispose]()
    })

    it('loads one object of delimited text', async () => {
      await store.put('data/cases.csv', 'id,name\n1,Kéo\n2,\n')
      const { tables, heard } = await loading.load(store.reading('data/cases.csv'))
      expect(tables).toMatchObject([{ table: 'target', rows: 2 }])
      expect(await loading.rows()).toEqual([
        ['1', 'Kéo'],
        ['2', null],
      ])
      expect(heard.totals).toMatchObject({ rowsRead: 2 })
    })

    it.each(refused)('fails the connection test with a message for %s', async (_what, changes, code, words) => {
      const kind = loading.kinds[type]!
      const problem = { code, message: expect.stringContaining(words) }
      for (const key of ['data/', 'data/cases.csv']) {
        const reading = store.reading(key, changes)
        await expect(kind.testConnection!(reading, never)).rejects.toMatchObject(problem)
        const told = await kind.testConnection!(reading, never).catch(
          (error: Error) => `${error.message} ${error.stack}`,
        )
        for (const secret of Object.values(reading.secrets).filter((one) => one.length > 10))
          expect(told).not.toContain(secret)
      }
    })

    const [containers, objects, place] =
      type === 'OBJECT_STORAGE_BUCKET' ? ['buckets', 'objects', 'bucket'] : ['containers', 'blobs', 'container']

    it(`lists the ${containers} of the account`, async () => {
      const kind = loading.kinds[type]!
      const other = (await store.another('other'))[place] as string
      const reading = store.reading('', { source: { [place]: undefined } })
      const found = await kind.listOptions!(containers, reading, never)
      expect(found).toEqual(expect.arrayContaining([{ id: other, code: other, name: other }]))
      expect(found!.length).toBeGreaterThan(1)
      const narrowed = await kind.listOptions!(containers, { ...reading, query: other.toUpperCase() }, never)
      expect(narrowed).toEqual([{ id: other, code: other, name: other }])
      expect(await kind.listOptions!('tables', reading, never)).toBeUndefined()
      const withoutKeys = { ...reading, secrets: {} }
      await expect(kind.listOptions!(containers, withoutKeys, never)).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining('Enter the name'),
      })
    })

    it(`lists the folders and ${objects} of one folder`, async () => {
      const kind = loading.kinds[type]!
      const source = await store.another('folders')
      const reading = store.reading('', { source })
      const keys = ['data/2026/cases.csv', 'data/b.csv', 'data/ä b+c%.csv', 'top.csv']
      for (const key of keys) await store.putInto(source, key, 'id\n1\n')
      const idsIn = async (within?: string, query?: string) =>
        (await kind.listOptions!(objects, { ...reading, within, query }, never))!.map(({ id, name }) => [id, name])
      expect(await idsIn()).toEqual([
        ['data/', 'data/'],
        ['top.csv', 'top.csv'],
      ])
      expect(await idsIn('data/')).toEqual([
        ['data/2026/', '2026/'],
        ['data/b.csv', 'b.csv'],
        ['data/ä b+c%.csv', 'ä b+c%.csv'],
      ])
      expect(await idsIn('data/', 'C%')).toEqual([['data/ä b+c%.csv', 'ä b+c%.csv']])
      expect(await idsIn('data/2026/')).toEqual([['data/2026/cases.csv', 'cases.csv']])
      expect(await idsIn('nowhere/')).toEqual([])
    })

    const text = 'id,name\n1,Oslo\n2,Bergen\n'
    const rows = [
      { id: 1, name: 'Oslo' },
      { id: 2, name: 'Bergen' },
    ]
    it.each<[string, Uint8Array | string]>([
      ['text.csv', text],
      ['semicolons.txt.gz', gzipSync(text)],
      ['packed.zip', makeZip([{ name: 'cases.csv', content: text }])],
      ['rows.json', JSON.stringify(rows)],
      ['rows.ndjson', rows.map((row) => JSON.stringify(row)).join('\n')],
      ['book.xlsx', makeWorkbook({ sheets: { One: workbookRows } })],
      ['rows.parquet', parquet([1, 2], ['Oslo', 'Bergen'])],
      ['rows.parquet.gz', gzipSync(parquet([1, 2], ['Oslo', 'Bergen']))],
    ])('loads the rows of %s', async (key, bytes) => {
      await store.put(`formats/${key}`, bytes)
      await loading.load(store.reading(`formats/${key}`))
      expect(await loading.rows()).toEqual([
        ['1', 'Oslo'],
        ['2', 'Bergen'],
      ])
    })

    itOfAnyStore('loads several objects into one table with common types, and logs how they differ', async () => {
      await store.put('years/2024/a.csv', 'id,name\n1,Oslo\n2,Bergen\n')
      await store.put('years/2025/b.csv.gz', gzipSync('name,id,share\nVoss,3.5,0.25\n'))
      await store.put('years/2025/_SUCCESS', '')
      await store.put('years/2026/c.parquet', parquet([4], ['Vardø']))
      await store.put('years/2026/notes.txt', 'not,asked,for\n1,2,3\n')
      const { heard } = await loading.load(store.reading('years/**/?.{csv*,parquet}'), 'together')
      expect(await loading.columns('together')).toEqual([
        'id DECIMAL',
        'name TEXT',
        'share DECIMAL',
        '_object_key TEXT',
        '_object_row BIGINT',
        '_object_last_modified TIMESTAMPTZ',
      ])
      const found = await loading.rows('together')
      expect(found.map((row) => row.slice(0, 5))).toEqual([
        ['1.0', 'Oslo', null, 'years/2024/a.csv', '1'],
        ['2.0', 'Bergen', null, 'years/2024/a.csv', '2'],
        ['3.5', 'Voss', '0.25', 'years/2025/b.csv.gz', '1'],
        ['4.0', 'Vardø', null, 'years/2026/c.parquet', '1'],
      ])
      for (const row of found) expect(Math.abs(Date.parse(`${row[5]}:00`) - Date.now())).toBeLessThan(3_600_000)
      expect(heard.logs.join('\n')).toContain('"share": 2 of 3 do not have it')
      expect(heard.logs.join('\n')).toMatch(/"id": it is .*INTEGER.* and becomes DECIMAL/)
      expect(heard.totals).toMatchObject({ rowsRead: 4 })
    })

    itOfAnyStore('reports the sheets of workbooks that it did not read', async () => {
      const sheets = { Notes: '', One: workbookRows, '2026': workbookRows }
      for (const name of ['a', 'b', 'c', 'd']) await store.put(`books/${name}.xlsx`, makeWorkbook({ sheets }))
      const unread = async (key: string, settings = {}) => {
        for await (const rowStream of loading.kinds[type]!.read(
          store.reading(key, { settings }),
          listener().report,
          never,
        ))
          return rowStream.unread
      }
      const one = await unread('books/a.xlsx')
      expect(one).toContain('Only the sheet "2026" (number 1) of books/a.xlsx was read.')
      const all = await unread('books/')
      expect(all).toContain(`${one} Only the sheet "2026" (number 1) of books/b.xlsx`)
      expect(all).toMatch(/ 1 more object has parts that were not read\.$/)
      expect(await unread('books/', { csvOptions: { sheet: '2026' } })).toBeUndefined()
      expect((await preview('books/a.xlsx')).notes[0]).toBe(one)
    })

    it('loads objects whose keys contain special characters', async () => {
      const keys = ['odd/a+b c.csv', 'odd/50% & more.csv', 'odd/æøå (1)!.csv', "odd/it's.csv", 'odd/a[1]*.csv']
      for (const key of keys) await store.put(key, 'id\n1\n')
      await loading.load(store.reading('odd/'), 'odd')
      expect((await loading.rows('odd')).map((row) => row[1]).toSorted()).toEqual(keys.toSorted())
      for (const key of keys) await loading.load(store.reading(key.replaceAll(/[[*]/g, String.raw`\$&`)), 'odd_one')
      expect(await loading.rows('odd_one')).toEqual([['1']])
    })

    const preview = (key: string, rows = 2) => loading.kinds[type]!.preview!(store.reading(key), rows, never)

    const large = () => {
      const lines = Array.from({ length: 60_000 }, (_, index) => `${index},${(index * 2_654_435_761) % 4_294_967_296}`)
      return `id,name\n${lines.join('\n')}\n`
    }

    it('resumes a broken download where it stopped, and retries after status 503', async () => {
      await store.put('large.csv', large())
      let troubles = 0
      /** By where parts end: one that is cut too often without a byte that got through is given up. */
      const ofPart = new Map<string, number>()
      await using proxy = await troubledProxy(store.endpoint, (url, range = '') => {
        const [, end = ''] = range.split('-')
        const times = ofPart.get(end) ?? 0
        if (!url.includes('large.csv') || range === 'bytes=0-0' || troubles > 20 || times > 2) return undefined
        ofPart.set(end, times + 1)
        troubles += 1
        if (troubles % 5 === 0) return { status: 503, headers: { 'retry-after': '0.02' }, body: 'busy' }
        return troubles % 2 === 0 ? { cutAfter: 20_000 } : undefined
      })
      const { tables, heard } = await loading.load(store.reading('large.csv', { source: { endpoint: proxy.endpoint } }))
      expect(tables).toMatchObject([{ rows: 60_000 }])
      const { rows: sums } = await loading.scratch.superuser.query(
        `select count(distinct id)::int as ids, sum(id)::bigint as sum from health.target`,
      )
      expect(sums).toEqual([{ ids: 60_000, sum: '1799970000' }])
      expect(heard.logs.filter((line) => line.includes('continues at byte')).length).toBeGreaterThan(3)
      const ranges = proxy.asked.map(({ range }) => range)
      expect(new Set(ranges).size).toBeGreaterThan(10)
      // Bytes that arrived before the connection broke are not requested again.
      expect(
        ranges.filter((range) => range && Number(/=(\d+)/.exec(range)![1]) % (64 * 1024) !== 0).length,
      ).toBeGreaterThan(3)
    })

    it('loads an object with Content-Encoding gzip, also after a broken connection', async () => {
      await store.put('encoded.csv', gzipSync(large()), { [store.encodedBy]: 'gzip' })
      let cut = 0
      await using proxy = await troubledProxy(store.endpoint, (url, range) => {
        if (!url.includes('encoded.csv') || range === 'bytes=0-0' || !range?.startsWith('bytes=0-')) return undefined
        cut += 1
        return cut === 2 ? { cutAfter: 100_000 } : undefined
      })
      const reading = store.reading('encoded.csv', { source: { endpoint: proxy.endpoint } })
      expect((await loading.load(reading, 'encoded')).tables).toMatchObject([{ rows: 60_000 }])
      expect(cut).toBeGreaterThan(2)
    })

    it('fails with CONNECTION_LOST if the connection keeps breaking', async () => {
      await store.put('large.csv', large())
      await using proxy = await troubledProxy(store.endpoint, (_url, range) =>
        range && range !== 'bytes=0-0' ? { cutAfter: 0 } : undefined,
      )
      const broken = loading.load(store.reading('large.csv', { source: { endpoint: proxy.endpoint } }))
      await expect(broken).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
    })

    it('fails with OBJECT_CHANGED if an object changes during the read', async () => {
      await store.put('changing.csv', large())
      let changed: Promise<void> | undefined
      await using proxy = await troubledProxy(store.endpoint, async (_url, range) => {
        if (!range || range === 'bytes=0-0') return undefined
        // The first part is of the old object, the others are passed on once the new one is there.
        if (changed) await changed
        else changed = store.put('changing.csv', large().replaceAll('1', '2'))
        return undefined
      })
      const loaded = loading.load(store.reading('changing.csv', { source: { endpoint: proxy.endpoint } }))
      await expect(loaded).rejects.toMatchObject({
        code: 'OBJECT_CHANGED',
        message: expect.stringContaining('changing.csv'),
      })
      await changed
    })

    it('keeps the old rows if the credentials are rejected during the read', async () => {
      await store.put('large.csv', large())
      await loading.load(store.reading('data/cases.csv'), 'kept')
      const body = `<Error><Code>${expired}</Code><Message>no</Message></Error>`
      await using proxy = await troubledProxy(store.endpoint, (_url, range) =>
        range && !range.startsWith('bytes=0-') ? { status: 403, body } : undefined,
      )
      const loaded = loading.load(store.reading('large.csv', { source: { endpoint: proxy.endpoint } }), 'kept')
      await expect(loaded).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
      expect(await loading.rows('kept')).toHaveLength(2)
    })

    it('rejects invalid rows, and names their object', async () => {
      await store.put('odd lines/a.csv', 'id,name\n1,Oslo\n')
      await store.put('odd lines/b.ndjson', '{"id": 2, "name": "Voss"}\n{"id": 3, "name"\n{"id": 4, "name": "Alta"}\n')
      const { heard } = await loading.load(store.reading('odd lines/'), 'odd_lines')
      expect(await loading.rows('odd_lines')).toHaveLength(3)
      expect(heard.rejected).toMatchObject([{ line: 2, reason: expect.stringMatching(/^odd lines\/b.ndjson: /) }])
    })

    it('fails with OBJECT_MISSING or NO_OBJECTS if no object matches the key', async () => {
      const missingObject = loading.load(store.reading('not/there.csv'))
      await expect(missingObject).rejects.toMatchObject({
        code: 'OBJECT_MISSING',
        message: expect.stringContaining('not/there.csv'),
      })
      await expect(loading.load(store.reading('not/*.csv'))).rejects.toMatchObject({ code: 'NO_OBJECTS' })
      await store.put('folders/of/a.csv', 'id\n1\n')
      await expect(loading.load(store.reading('folders/*.csv'))).rejects.toMatchObject({
        code: 'NO_OBJECTS',
        message: expect.stringContaining('`folders/**/*.csv` to include subfolders'),
      })
    })

    it('fails with ADDRESS_NOT_ALLOWED if the operator does not allow the address', async () => {
      const closed = objectStores({
        filesDirectory: loading.filesDirectory,
        allowed: { entries: [], allowsHost: () => false, allowsAddress: () => false },
      })
      const tried = closed[type].testConnection!(store.reading('data/cases.csv'), never)
      await expect(tried).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
    })

    changesSuite(() => ({ store, loading }), itOfAnyStore)

    it('previews the first rows without reading a large object completely', async () => {
      await store.put('large.csv', large() + large().slice('id,name\n'.length).repeat(6))
      await using proxy = await troubledProxy(store.endpoint, () => undefined)
      const away = store.reading('large.csv', { source: { endpoint: proxy.endpoint } })
      expect(await loading.kinds[type]!.preview!(away, 2, never)).toMatchObject({
        columns: [{ name: 'id' }, { name: 'name' }],
        rows: [
          [0, '0'],
          [1, '2654435761'],
        ],
        rejected: [],
        complete: false,
      })
      expect(proxy.asked.length).toBeLessThan(70)
      await store.put('seen/a.parquet', parquet([1, 2, 3], ['a', 'b', 'c']))
      expect(await preview('seen/a.parquet')).toMatchObject({
        rows: [
          [1, 'a'],
          [2, 'b'],
        ],
        complete: false,
      })
      await store.put('seen/b.csv', 'id\n1\n')
      const several = await preview('seen/*', 5)
      expect(several.rows[2]).toEqual([3, 'c', 'seen/a.parquet', '3', expect.any(String)])
      expect(several.notes.join()).toContain('The preview shows the first of several objects that match "seen/*".')
      await expect(preview('nothing/')).rejects.toMatchObject({ code: 'NO_OBJECTS' })
    })

    it('stops when the run is cancelled', async () => {
      await store.put('large.csv', large())
      const ending = new AbortController()
      await using proxy = await troubledProxy(store.endpoint, (_url, range) => {
        if (range && range !== 'bytes=0-0') ending.abort(new Error('cancelled'))
        return undefined
      })
      const { report } = listener()
      const reading = store.reading('large.csv', { source: { endpoint: proxy.endpoint } })
      const rowStreams = loading.kinds[type]!.read(reading, report, ending.signal)
      await expect(rowStreams[Symbol.asyncIterator]().next()).rejects.toThrow('cancelled')
    })
  })
