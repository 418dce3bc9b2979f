import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { describeUnless, itUnless } from '@sluice/testing/skip-tests'
import { kindsOfStores, type TestStore } from './object-stores-under-test.ts'
import { type Trouble, type TroubledProxy, troubledProxy } from './faulty-proxy.ts'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { testEveryRule } from '../../../test/test-every-rule.ts'
import { never, openHarness, type ConnectorHarness } from '../../../test/connector-harness.ts'
import { unsupportedByStores } from '../../../test/unsupported-conformance-rules.ts'

/** One object for each person, of NDJSON: what is new is an object more. */
const person = (id: number, more: object = {}) => `${JSON.stringify({ id, name: `Person ${id}`, ...more })}\n`
/** Twice the heap that each reading has. */
const largeBytes = 64_000_000
const manyObjects = 1_000

/** A short run tests only the first store, because all stores share the code under test. The protocol of each has its own tests. */
const [firstStore, ...otherStores] = kindsOfStores
const stores = [firstStore!, ...otherStores.map((store) => ({ ...store, missing: longRunOnly ?? store.missing }))]

for (const { name, missing, start, expired } of stores)
  describeUnless(missing)(`${name}, rules for all sources`, () => {
    const scratch = scratchWarehouseForAll()
    let store: TestStore
    let proxy: TroubledProxy
    let rig: ConnectorHarness
    let trouble: (url: string, range: string | undefined) => Trouble | undefined
    let folder: string

    beforeAll(async () => {
      store = await start()
      proxy = await troubledProxy(store.endpoint, (url, range) => trouble(url, range))
      rig = await openHarness(scratch)
    })
    beforeEach(() => {
      trouble = () => undefined
      proxy.asked.length = 0
      folder = word('people_')
      rig.table = word('rows_')
    })
    afterAll(async () => {
      await rig?.[Symbol.asyncDispose]()
      await proxy?.[Symbol.asyncDispose]()
      await store?.[Symbol.asyncDispose]()
    })

    const reading = (changes: Parameters<TestStore['reading']>[1] = {}) =>
      store.reading(`${folder}/`, { ...changes, source: { endpoint: proxy.endpoint, ...changes.source } })
    const put = (id: number, more?: object) => store.put(`${folder}/${id}.ndjson`, person(id, more))
    const three = async () => {
      for (const id of [1, 2, 3]) await put(id)
    }
    const names = async () => (await rig.values('id', 'name')).map(([, name]) => name)
    const ofObject = (url: string) => url.includes('.ndjson')
    /** What happens to the n-th request for an object, from 1, and to those behind it if `on`. */
    const atObject = (n: number, fault: Trouble, { on = false } = {}) => {
      let count = 0
      trouble = (url) => {
        if (!ofObject(url)) return undefined
        count += 1
        return count === n || (on && count > n) ? fault : undefined
      }
    }
    /** As both protocols say that something is wrong; sends back what it was sent. */
    const refusal = (status: number, code: string) => ({
      status,
      headers: { 'x-ms-error-code': code },
      body: `<Error><Code>${code}</Code><Message>Away, ${Object.values(reading().secrets).join()}</Message></Error>`,
    })

    testEveryRule(
      unsupportedByStores,
      {
        async tried() {
          await three()
          expect(await rig.testConnection(reading())).toBeUndefined()
        },

        async refused() {
          const secrets = Object.fromEntries(
            Object.entries(reading().secrets).map(([name, value]) => [name, value.replace(/^.{4}/, 'AAAA')]),
          )
          expect(await rig.testConnection(reading({ secrets }))).toMatchObject({
            code: 'AUTHENTICATION_FAILED',
            message: expect.stringMatching(/check/i),
          })
          const endpoint = proxy.endpoint.replace(/:\d+/, ':65529')
          expect(await rig.testConnection(reading({ source: { endpoint } }))).toMatchObject({
            code: 'CONNECTION_REFUSED',
            message: expect.stringContaining('127.0.0.1:65529'),
          })
        },

        async preview() {
          await store.put(`${folder}/all.ndjson`, Array.from({ length: 3_000 }, (_, id) => person(id)).join(''))
          const { columns, rows, complete } = await rig.sources.preview(reading(), 2, never)
          expect([rows.length, complete]).toEqual([2, false])
          expect(columns.map(({ name }) => name)).toContain('name')
        },

        async whole() {
          await three()
          await rig.load(reading())
          expect(await rig.values('id', 'name', '_object_key', '_object_row')).toEqual(
            [1, 2, 3].map((id) => [String(id), `Person ${id}`, `${folder}/${id}.ndjson`, '1']),
          )
        },

        async increment() {
          await three()
          await rig.load(reading())
          await put(5_000)
          proxy.asked.length = 0
          await rig.load(reading(), 'INCREMENTAL')
          expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3', 'Person 5000'])
          expect(proxy.asked.filter(({ url }) => ofObject(url) && !url.includes('5000'))).toEqual([])
          expect(await rig.load(reading(), 'INCREMENTAL')).toEqual([])
        },

        async edit() {
          await three()
          await rig.load(reading())
          await put(2, { name: 'Somebody else' })
          proxy.asked.length = 0
          await rig.load(reading(), 'INCREMENTAL')
          expect(await names()).toEqual(['Person 1', 'Somebody else', 'Person 3'])
          expect(proxy.asked.filter(({ url }) => ofObject(url) && !url.includes('/2.ndjson'))).toEqual([])
        },

        async gone() {
          await three()
          await rig.load(reading())
          await store.remove(`${folder}/3.ndjson`)
          await put(2, { name: 'Somebody else' })
          await rig.load(reading())
          expect(await names()).toEqual(['Person 1', 'Somebody else'])
        },

        async columnAdded() {
          await three()
          await rig.load(reading())
          await put(4, { extra: 'x' })
          await rig.load(reading(), 'INCREMENTAL')
          expect((await rig.values('id', 'extra')).map(([, extra]) => extra)).toEqual([null, null, null, 'x'])
          await store.remove(`${folder}/4.ndjson`)
          await rig.load(reading())
          expect((await rig.values('id', 'extra')).map(([, extra]) => extra)).toEqual([null, null, null])
        },

        async columnRetyped() {
          for (const id of [1, 2]) await put(id, { extra: id })
          await rig.load(reading())
          expect(await rig.typeOf('extra')).toMatch(/INT$/)
          await put(3, { extra: 'three' })
          await rig.load(reading(), 'INCREMENTAL')
          expect((await rig.values('id', 'extra')).map(([, extra]) => extra)).toEqual(['1', '2', 'three'])
          expect(await rig.typeOf('extra')).toBe('TEXT')
        },

        async badRecord() {
          await three()
          await store.put(`${folder}/4.ndjson`, person(4, { name: 'Person\u0000 4' }) + person(5))
          await rig.load(reading())
          expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3', 'Person 5'])
          const reason = expect.stringMatching(new RegExp(String.raw`^${folder}/4\.ndjson: .*U\+0000`))
          expect(rig.rejected).toMatchObject([{ line: 1, reason }])
        },

        async breaksOff() {
          await three()
          atObject(2, { cutAfter: 10 })
          await rig.load(reading())
          expect(await names()).toHaveLength(3)
          expect(rig.messages.join('\n')).toMatch(/was interrupted and continues at byte 10/)
        },

        async keepsBreaking() {
          await three()
          await rig.load(reading())
          await put(4)
          atObject(1, { cutAfter: 0 }, { on: true })
          await expect(rig.load(reading())).rejects.toMatchObject({ name: 'SourceProblem', code: 'CONNECTION_LOST' })
          expect(await names()).toHaveLength(3)
        },

        async retryAfter() {
          await three()
          for (const status of [429, 503])
            for (const wanted of [(url: string) => !ofObject(url), ofObject]) {
              let asked = 0
              proxy.asked.length = 0
              trouble = (url) => {
                if (!wanted(url)) return undefined
                asked += 1
                return asked === 1 ? { ...refusal(status, 'SlowDown'), headers: { 'retry-after': '1' } } : undefined
              }
              await rig.load(reading())
              expect(await names()).toHaveLength(3)
              const [refused] = proxy.asked.filter(({ url }) => wanted(url))
              const again = proxy.asked.findLast(({ url }) => url === refused!.url)
              expect(again!.at - refused!.at).toBeGreaterThanOrEqual(990)
            }
        },

        async expired() {
          await three()
          await rig.load(reading())
          await put(4)
          atObject(2, refusal(403, expired), { on: true })
          await expect(rig.load(reading())).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
          expect(await names()).toHaveLength(3)
        },

        async fails() {
          await three()
          atObject(1, refusal(503, 'ServiceUnavailable'), { on: true })
          await expect(rig.load(reading())).rejects.toMatchObject({
            code: 'SOURCE_FAILED',
            message: expect.stringMatching(/503.*Away/),
          })
        },

        async redirect() {
          await three()
          atObject(1, { status: 302, headers: { location: 'http://localhost:9/elsewhere' } }, { on: true })
          await expect(rig.load(reading())).rejects.toMatchObject({ code: 'REDIRECTED' })
        },

        async cancelled() {
          await three()
          const rest = { ...refusal(503, 'SlowDown'), headers: { 'retry-after': '600' } }
          for (const fault of [{ silent: true }, rest])
            for (const wanted of [(url: string) => !ofObject(url), ofObject]) {
              proxy.asked.length = 0
              trouble = (url) => (wanted(url) ? fault : undefined)
              await rig.expectCancelled(reading(), () => proxy.asked.some(({ url }) => wanted(url)))
            }
        },

        async large() {
          const line = `${'x'.repeat(990)}\n`
          await store.put(
            `${folder}/large.csv`,
            `id,text\n${Array.from({ length: largeBytes / 1_000 }, (_, id) => `${id},${line}`).join('')}`,
          )
          await store.put(`${folder}/small.csv`, `id,text\n0,${line}`)
          const small = await rig.readWithin(64, store.reading(`${folder}/small.csv`))
          const { rows, peak } = await rig.readWithin(64, store.reading(`${folder}/large.csv`))
          expect([small.rows, rows]).toEqual([1, largeBytes / 1_000])
          expect(peak - small.peak).toBeLessThan(0.8 * largeBytes)
        },

        async secrets() {
          rig.expectRedacted(Object.values(reading().secrets))
        },
      },
      { missing },
    )

    itUnless(longRunOnly)('needs about the same memory for 1,000 objects as for 10', async () => {
      const few = word('few_')
      const csv = (id: number) => `id,name\n${id},Person ${id}\n`
      for (let id = 0; id < 10; id += 1) await store.put(`${few}/${id}.csv`, csv(id))
      for (let id = 0; id < manyObjects; id += 10)
        await Promise.all(
          Array.from({ length: 10 }, (_, more) => store.put(`${folder}/${id + more}.csv`, csv(id + more))),
        )
      const small = await rig.readWithin(64, store.reading(`${few}/`))
      const { rows, peak } = await rig.readWithin(64, store.reading(`${folder}/`))
      expect([small.rows, rows]).toEqual([10, manyObjects])
      // What piles up until it is collected; a file or a thread that stayed behind each would come to far more.
      expect(peak - small.peak).toBeLessThan(100_000_000)
    })

    it('adds no rows for an empty list, and empties the table if all objects are empty lists', async () => {
      const list = (name: string, ...people: object[]) => store.put(`${folder}/${name}.json`, JSON.stringify(people))
      await list('a')
      await expect(rig.load(reading())).rejects.toMatchObject({ code: 'EMPTY_SOURCE' })
      await list('b', { id: 1, name: 'Person 1' })
      await rig.load(reading())
      expect(await names()).toEqual(['Person 1'])
      const columns = ['id', 'name', '_object_key'].map((name) => ({ name, label: name, dataType: 'TEXT' as const }))
      const previousShape = { columns }
      await list('b')
      await rig.load({ ...reading(), previousShape })
      expect(await names()).toEqual([])
      await list('b', { id: 2, name: 'Person 2' })
      await rig.load({ ...reading(), previousShape })
      expect(await names()).toEqual(['Person 2'])
      await list('b')
      await rig.load({ ...store.reading(`${folder}/b.json`), previousShape })
      expect(await names()).toEqual([])
    })

    it('fails with NO_OBJECTS for an empty bucket or prefix, and keeps the old rows', async () => {
      await three()
      await rig.load(reading())
      for (const id of [1, 2, 3]) await store.remove(`${folder}/${id}.ndjson`)
      await expect(rig.load(reading())).rejects.toMatchObject({ code: 'NO_OBJECTS' })
      expect(await names()).toHaveLength(3)
      const source = await store.another('empty')
      await expect(rig.load(store.reading('/', { source }))).rejects.toMatchObject({ code: 'NO_OBJECTS' })
      expect(await rig.testConnection(store.reading('**/*.csv', { source }))).toMatchObject({ code: 'NO_OBJECTS' })
    })
  })
