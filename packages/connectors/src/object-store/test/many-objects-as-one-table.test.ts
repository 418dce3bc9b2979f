import { readdirSync, readlinkSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { describeUnless } from '@sluice/testing/skip-tests'
import fc from 'fast-check'
import { troubledProxy } from './faulty-proxy.ts'
import { listener, type Loading, never, openLoading } from './load-from-store.ts'
import { kindsOfStores, type TestStore } from './object-stores-under-test.ts'

/** A generated object of delimited text. */
interface GeneratedObject {
  columns: readonly string[]
  rows: Record<string, string>[]
  /** The index before which a row with too many fields is inserted. */
  badRowAt: number | undefined
  lineEnd: '\n' | '\r\n'
  endsWithLine: boolean
  quotesAll: boolean
  form: 'PLAIN' | 'MARKED' | 'GZIP' | 'UTF-16' | 'LATIN-1' | 'SEMICOLONS' | 'NO_HEADER' | 'EMPTY'
}

const badRow = ['0', 'too', 'many', 'fields', 'in', 'this', 'row', 'alone']
const usual = ['id', 'name', 'note', 'amount', 'day']
const columns = fc.constantFrom(
  usual,
  usual,
  usual,
  usual.toReversed(),
  ['id', 'name'],
  ['id', 'other', 'note', 'amount'],
)
const form = fc.constantFrom<GeneratedObject['form'][]>(
  ...(Array(7).fill('PLAIN') as 'PLAIN'[]),
  'MARKED',
  'GZIP',
  'UTF-16',
  'LATIN-1',
  'SEMICOLONS',
  'NO_HEADER',
  'EMPTY',
)

/** The texts of cells. Days and numbers have one form in most objects. */
const word = fc.constantFrom('x', 'a, b', 'say "so"', 'two\nlines', 'æøå é', '', '  padded', "it's")
const row = (amounts: readonly string[], days: readonly string[]) =>
  fc.record({
    name: word,
    note: word,
    other: word,
    amount: fc.constantFrom(...amounts, ''),
    day: fc.constantFrom(...days, ''),
  })
const isoDays = ['2024-01-31', '2025-12-01']
const dottedDays = ['31.01.2024', '01.12.2025']
const rows = fc
  .tuple(
    fc.constantFrom(['1', '20'], ['1', '20'], ['1.5', '-3'], ['1', 'none'], ['70000', '9007199254740993']),
    fc.constantFrom(isoDays, isoDays, isoDays, dottedDays, [...isoDays, ...dottedDays], ['soon']),
  )
  .chain(([amounts, days]) => fc.array(row(amounts, days), { maxLength: 5 }))
  .map((list) => list.map((cells, index) => ({ id: String(index + 1), ...cells })))

const generatedObject: fc.Arbitrary<GeneratedObject> = fc.record({
  columns,
  rows,
  badRowAt: fc.option(fc.constantFrom(1, 2), { nil: undefined, freq: 8 }),
  lineEnd: fc.constantFrom('\n', '\n', '\r\n'),
  endsWithLine: fc.boolean(),
  quotesAll: fc.boolean(),
  form,
})

/** Only one row of a load is bad, and only in an object in which it is clear what a good row is. */
function allowOneBadRow(objects: readonly GeneratedObject[]): GeneratedObject[] {
  const index = objects.findIndex(
    ({ badRowAt, rows: good, form: one }) => badRowAt !== undefined && good.length > 3 && one === 'PLAIN',
  )
  return objects.map((object, at) => (at === index ? object : { ...object, badRowAt: undefined }))
}

/** The lines of an object as cells, including its header. Cells of forms without quotes are plain words. */
function writeObject(object: GeneratedObject): Buffer {
  const { columns: names, lineEnd, endsWithLine, quotesAll, form: one, badRowAt } = object
  const cells = object.rows.map((cellsOfRow) => names.map((name) => cellsOfRow[name]!))
  if (one === 'EMPTY') return Buffer.alloc(0)
  if (one === 'NO_HEADER')
    return Buffer.from(
      numbersOf(object)
        .map((line) => line.join())
        .join('\n'),
    )
  if (one === 'SEMICOLONS')
    return Buffer.from(['id;name', ...object.rows.map(({ id }) => `${id};n${id}`), ''].join('\n'))
  if (badRowAt !== undefined) cells.splice(badRowAt, 0, badRow)
  // An empty cell is never in quotes, because it would then be null only if the column of its object is not TEXT.
  const quote = (cell: string) =>
    cell !== '' && (quotesAll || /[",\r\n]/.test(cell)) ? `"${cell.replaceAll('"', '""')}"` : cell
  const lines = [names.join(), ...cells.map((line) => line.map(quote).join())]
  const text = lines.join(lineEnd) + (endsWithLine ? lineEnd : '')
  if (one === 'LATIN-1') return Buffer.from(text, 'latin1')
  if (one === 'UTF-16') return Buffer.from(`\ufeff${text}`, 'utf16le')
  if (one === 'GZIP') return gzipSync(text)
  return Buffer.from(one === 'MARKED' ? `\ufeff${text}` : text)
}

/** The rows of an object without a header, which has only numbers. */
const numbersOf = ({ rows: some }: GeneratedObject): string[][] => [
  ['5', '6'],
  ...some.map(({ id }) => [id!, `${id}0`]),
]

/** The rows of an object by column, as written; null for an empty cell. */
function rowsOf(object: GeneratedObject): Record<string, string | null>[] {
  if (object.form === 'EMPTY') return []
  if (object.form === 'NO_HEADER')
    return numbersOf(object).map(([one, other]) => ({ column_1: one!, column_2: other! }))
  if (object.form === 'SEMICOLONS') return object.rows.map(({ id }) => ({ id_name: `${id};n${id}` }))
  return object.rows
    .filter((cells) => isReadable(object, cells))
    .map((cells) => Object.fromEntries(object.columns.map((name) => [name, cells[name] || null])))
}

/**
 * Encodings other than UTF-8 are not guessed, so Latin-1 without the option `encoding` is only readable if it is ASCII.
 */
const isReadable = ({ form: one, columns: names }: GeneratedObject, cells: Record<string, string>): boolean =>
  one !== 'LATIN-1' || names.every((name) => /^[\0-\x7f]*$/.test(cells[name]!))

/** The lines of the rows that are rejected, as an editor counts them. */
function rejectedLines(object: GeneratedObject): number[] {
  const { rows: some, badRowAt, columns: names, form: one } = object
  if (!['PLAIN', 'LATIN-1'].includes(one)) return []
  const linesIn = (cells: Record<string, string>) =>
    1 + names.reduce((sum, name) => sum + (cells[name]!.match(/\n/g)?.length ?? 0), 0)
  const lines: number[] = []
  let line = 2
  for (const [index, cells] of some.entries()) {
    if (index === badRowAt) lines.push(line++)
    if (!isReadable(object, cells)) lines.push(line)
    line += linesIn(cells)
  }
  return lines
}

const isNumber = (text: string): boolean => /^-?\d+(\.\d+)?$/.test(text)
const dottedToIso = (text: string): string => text.replace(/^(\d\d)\.(\d\d)\.(\d{4})$/, '$3-$2-$1')
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(dottedToIso(text))
const isOneForm = (days: readonly string[]): boolean => new Set(days.map((day) => day.includes('.'))).size < 2

/** The rows of all objects, with values in the form in which the column of their table prints them. */
function modelOf(objects: ReadonlyMap<string, GeneratedObject>): string[] {
  const all = [...objects].flatMap(([key, object]) =>
    rowsOf(object).map((cells, at) => ({ key, number: at + 1, cells })),
  )
  const valuesOf = (name: string, some = all) => some.flatMap(({ cells }) => cells[name] ?? [])
  const areNumbers = (name: string) => valuesOf(name).every(isNumber)
  const areDays = (name: string) =>
    valuesOf(name).every(isDay) &&
    [...objects.keys()].every((key) =>
      isOneForm(
        valuesOf(
          name,
          all.filter((one) => one.key === key),
        ),
      ),
    )
  const print = (name: string, value: string) => {
    if (name === 'day' && areDays(name)) return dottedToIso(value)
    return areNumbers(name) ? canonicalNumber(value) : value
  }
  return all
    .map(({ key, number, cells }) => {
      const printed = Object.entries(cells).flatMap(([name, value]) =>
        value === null ? [] : [[name, print(name, value)] as const],
      )
      return JSON.stringify([key, number, Object.fromEntries(printed.toSorted())])
    })
    .toSorted()
}

/** The source formats of generated days and amounts, each with the values that it prints. */
const generatedForms: Record<string, RegExp> = {
  'DD.MM.YYYY': /^\d\d\.\d\d\.\d{4}$/,
  'YYYY-MM-DD': /^\d{4}-\d\d-\d\d$/,
  '0': /^-?\d+$/,
  '0.0': /^-?\d+\.\d$/,
  '0.#': /^-?\d+(\.\d*[1-9])?$/,
}

/** A number without zeros at the end of its fraction. */
const canonicalNumber = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)

const [kind] = kindsOfStores

describeUnless(kind!.missing)('objects of a folder', () => {
  let store: TestStore
  let loading: Loading

  beforeAll(async () => {
    store = await kind!.start()
    loading = await openLoading()
  })
  afterAll(async () => {
    await loading?.[Symbol.asyncDispose]()
    await store?.[Symbol.asyncDispose]()
  })

  /** The rows of a table like those of the model. */
  async function tableRows(table: string): Promise<string[]> {
    const described = (await loading.columns(table)).map((column) => column.split(' '))
    return (await loading.rows(table))
      .map((row) => {
        const cells = described.map(([name, type], at) => [name!, type!, row[at] ?? null] as const)
        const own = (wanted: string) => cells.find(([name]) => name === wanted)![2]!
        const values = cells.flatMap(([name, type, value]) => {
          if (value === null || name.startsWith('_')) return []
          return [[name, type === 'TEXT' || type === 'DATE' ? value : canonicalNumber(value)] as const]
        })
        return JSON.stringify([own('_object_key'), Number(own('_object_row')), Object.fromEntries(values.toSorted())])
      })
      .toSorted()
  }

  it('are loaded with all of their rows, whatever their headers, line ends and encodings', async () => {
    let round = 0
    const law = async (generated: readonly GeneratedObject[]) => {
      round += 1
      const [folder, table] = [`alike${round}/`, `alike_${round}`]
      const objects = new Map(
        allowOneBadRow(generated).map((object, index) => [`${folder}${index}.csv`, object] as const),
      )
      await Promise.all([...objects].map(([key, object]) => store.put(key, writeObject(object))))
      const model = modelOf(objects)
      const load = loading.load(store.reading(folder), table)
      if (model.length === 0 && [...objects.values()].some((object) => rejectedLines(object).length > 0)) {
        await expect(load).rejects.toMatchObject({ code: 'TOO_MANY_REJECTED_ROWS' })
        return
      }
      const { heard } = await load
      expect(await tableRows(table)).toEqual(model)
      const described = await loading.scratch.warehouse.catalog.findTable('health', table)
      for (const { name, sourceFormat } of described!.columns) {
        if (sourceFormat === undefined || name.startsWith('_')) continue
        const texts = [...objects.values()].flatMap((object) => rowsOf(object).flatMap((cells) => cells[name] ?? []))
        for (const text of texts) expect(text).toMatch(generatedForms[sourceFormat]!)
      }
      const rejected = heard.rejected.map(({ line, reason }) => `${reason.split(': ')[0]} ${line}`)
      const expected = [...objects].flatMap(([key, object]) => rejectedLines(object).map((line) => `${key} ${line}`))
      expect(rejected.toSorted()).toEqual(expected.toSorted())
    }
    const some = fc
      .array(generatedObject, { minLength: 1, maxLength: 7 })
      .filter((objects) => objects.some(({ form: one }) => one !== 'EMPTY'))
    await fc.assert(fc.asyncProperty(some, law), { numRuns: drawCount({ short: 20, long: 150 }), endOnFailure: true })
  })

  it('have a source format for a column if it is the same in all of them', async () => {
    const files = [
      'id,day,price\n1,31.12.2024,2.50\n',
      'id,day,price\n2,30.12.2024,3.5\n',
      gzipSync('id,day,price\n3,29.12.2024,\n'),
    ]
    await Promise.all(files.map((text, index) => store.put(`forms/${index}.csv`, text)))
    await loading.load(store.reading('forms/'), 'forms')
    const { columns: described } = (await loading.scratch.warehouse.catalog.findTable('health', 'forms'))!
    const forms = described
      .filter(({ name }) => !name.startsWith('_'))
      .map(({ name, sourceFormat }) => [name, sourceFormat])
    expect(forms).toEqual([
      ['id', '0'],
      ['day', 'DD.MM.YYYY'],
      ['price', undefined],
    ])
  })

  it('are requested once, and fill one table with types that fit all of them', async () => {
    const keys = Array.from({ length: 60 }, (_, index) => `once/${String(index).padStart(2, '0')}.csv`)
    await Promise.all(keys.map((key, index) => store.put(key, `id,share\n${index},${index === 59 ? '0.25' : '1'}\n`)))
    await store.put('once/more.ndjson', '{"id": 60, "share": 2}\n')
    await store.put('once/packed.csv', gzipSync('id,share\n61,3\n'), { [store.encodedBy]: 'gzip' })
    await using proxy = await troubledProxy(store.endpoint, () => undefined)
    const { heard } = await loading.load(store.reading('once/', { source: { endpoint: proxy.endpoint } }), 'once')
    expect((await loading.columns('once')).slice(0, 2)).toEqual(['id SMALLINT', 'share DECIMAL'])
    const ids = (await loading.rows('once')).map(([id]) => Number(id))
    expect(ids.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 62 }, (_, index) => index))
    const requested = proxy.asked.map(({ url }) => url.replace(/^.*(once\/[^?]*).*$/, '$1'))
    for (const key of [...keys, 'once/more.ndjson'])
      expect([key, requested.filter((url) => url === key)]).toEqual([key, [key]])
    expect(heard.logs.join('\n')).toMatch(/Read once\/00\.csv and 60 similar texts as UTF-8/)
    expect(heard.totals).toMatchObject({ rowsRead: 62 })
  })

  it.each([
    ['changes', 'OBJECT_CHANGED', () => store.put('unstable/5.csv', 'id,name\n5,other\n')],
    ['vanishes', 'OBJECT_MISSING', () => store.remove('unstable/5.csv')],
  ])('are not loaded if one of them %s after it was listed', async (_what, code, change) => {
    for (let id = 0; id < 10; id += 1) await store.put(`unstable/${id}.csv`, `id,name\n${id},x\n`)
    const reading = store.reading('unstable/')
    await loading.load(reading, 'unstable')
    const before = await loading.rows('unstable')
    let changed: Promise<void> | undefined
    await using proxy = await troubledProxy(store.endpoint, async (url) => {
      if (url.includes('unstable/5.csv')) await (changed ??= change())
      return undefined
    })
    const load = loading.load(store.reading('unstable/', { source: { endpoint: proxy.endpoint } }), 'unstable')
    await expect(load).rejects.toMatchObject({ code, message: expect.stringContaining('unstable/5.csv') })
    expect(await loading.rows('unstable')).toEqual(before)
  })

  it('name the object with an unusable header or without any text', async () => {
    await store.put('bad/a.csv', 'id,name\n1,x\n')
    await store.put('bad/b.csv', '\n\n')
    await expect(loading.load(store.reading('bad/'), 'bad')).rejects.toMatchObject({
      code: 'EMPTY_FILE',
      message: expect.stringContaining('bad/b.csv is empty'),
    })
  })

  it('are read with a warning about other tables in them', async () => {
    const table = 'id,n,t\n1,10,x\n2,20,y\n3,30,z\n4,40,x\n'
    for (const name of ['a', 'b']) await store.put(`tables/${name}.csv`, `${table}\nplace,share\nnorth,5\nsouth,6\n`)
    await store.put('tables/c.csv', table)
    const reading = store.reading('tables/')
    const unread = []
    for await (const rowStream of loading.kinds[reading.type]!.read(reading, listener().report, never))
      unread.push(rowStream.unread)
    expect(unread).toEqual([expect.stringMatching(/of tables\/a\.csv was read; .* of tables\/b\.csv was read; /)])
    const { heard } = await loading.load(reading, 'tables')
    expect([(await loading.rows('tables')).length, heard.rejected]).toEqual([12, []])
  })

  it('are one table without headers if the options say so', async () => {
    for (const id of [1, 2, 3]) await store.put(`bare/${id}.csv`, `${id},name ${id}\n${id}0,x\n`)
    const reading = store.reading('bare/', { settings: { csvOptions: { headerRow: false } } })
    const { heard } = await loading.load(reading, 'bare')
    const rowsOfTable = (await loading.rows('bare')).map((row) => row.slice(0, 2).join())
    expect(rowsOfTable.toSorted()).toEqual(['1,name 1', '10,x', '2,name 2', '20,x', '3,name 3', '30,x'])
    expect(heard.logs.join('\n')).toContain('bare/1.csv and 2 similar texts')
  })

  it('are loaded completely if only some of them fit into the spool', async () => {
    await using limited = await openLoading({ spoolBytes: 100 })
    for (const id of [1, 2, 3]) {
      await store.put(`large/${id}.csv`, `id,name\n${id},${'x'.repeat(30)}\n`)
      await store.put(`large/${id}.ndjson`, `{"id": ${id}0, "name": "y"}\n`)
    }
    await limited.load(store.reading('large/'), 'large')
    const names = (await limited.columns('large')).map((column) => column.split(' ')[0])
    const rowsOfTable = (await limited.rows('large')).map((row) =>
      ['id', '_object_key', '_object_row'].map((name) => row[names.indexOf(name)]).join(' '),
    )
    expect(rowsOfTable.toSorted()).toEqual(
      [1, 2, 3].flatMap((id) => [`${id} large/${id}.csv 1`, `${id}0 large/${id}.ndjson 1`]).toSorted(),
    )
  })

  it.each([
    ['one group', ['id,name']],
    ['several groups', ['id,name', 'name,id']],
  ])('leave no open file if the reader of %s stops early', async (_what, headers) => {
    // Other test files in this process can have open spools.
    const openBefore = openSpools()
    const openedSpools = () => openSpools().filter((spool) => !openBefore.includes(spool))
    const folder = `early${headers.length}/`
    const lines = Array.from({ length: 200_000 }, (_, id) => `${id},x`).join('\n')
    for (const [index, header] of headers.entries()) await store.put(`${folder}${index}.csv`, `${header}\n${lines}\n`)
    const reading = store.reading(folder)
    const { report } = listener()
    for (const ending of ['RETURN', 'ABORT']) {
      const cancel = new AbortController()
      const read = async () => {
        for await (const { columns: known, content } of loading.kinds[reading.type]!.read(
          reading,
          report,
          cancel.signal,
        ))
          for await (const { release } of content.rows(known)) {
            expect(openedSpools()).not.toEqual([])
            if (ending === 'RETURN') return
            cancel.abort(new Error('cancelled'))
            release?.()
          }
      }
      if (ending === 'RETURN') await read()
      else await expect(read()).rejects.toThrow('cancelled')
      expect(openedSpools()).toEqual([])
    }
  })
})

/** The unnamed files of this process that are open. */
const openSpools = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return /\/spool\/.* \(deleted\)$/.test(path) ? [path] : []
    } catch {
      // The descriptor of the listing is already closed.
      return []
    }
  })
