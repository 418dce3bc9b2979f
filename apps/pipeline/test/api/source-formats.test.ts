import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { drawCount } from '@sluice/testing/random-case-count'
import { fileLoadsUnderTest } from './file-loads-setup.ts'
import { viewBody } from './view-fixtures.ts'

const loads = fileLoadsUnderTest(['ROLE_MANAGE_VIEW', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'])
const { owner, create, run } = loads

async function load(path: string, content: string, { type = 'text/csv', status = 'OK' } = {}): Promise<string> {
  await owner.post(`${path}/file?name=values.csv`).type(type).send(content).expect(200)
  const ended = await run(path)
  expect(ended).toMatchObject({ status })
  return ended.message
}

const formsOf = (columns: { name: string; sourceFormat?: string }[]) =>
  Object.fromEntries(columns.map(({ name, sourceFormat }) => [name, sourceFormat]))
const readForms = async (path: string) => formsOf((await owner.get(`${path}/table`).expect(200)).body.columns)
const exportCsv = async (path: string, query = 'sourceFormats=true') =>
  (await owner.get(`${path}/data?format=csv&${query}`).expect(200)).text

const austrian = [
  'id;day;moment;price;done;note',
  '1;31.12.2024;31.12.2024 14:30;1234,50;TRUE;"a ""quoted"" note, with commas"',
  '2;01.02.2024;01.02.2024 09:05;-0,25;FALSE;',
  '3;;;;;""',
  '',
].join('\r\n')
const formats = { id: '0', day: 'DD.MM.YYYY', moment: 'DD.MM.YYYY HH:mm', price: '0,00', done: 'TRUE|FALSE' }
const printed = [
  'id,day,moment,price,done,note',
  '1,31.12.2024,31.12.2024 14:30,"1234,50",TRUE,"a ""quoted"" note, with commas"',
  '2,01.02.2024,01.02.2024 09:05,"-0,25",FALSE,',
  '3,,,,,""',
  '',
].join('\r\n')

const pad = (value: number, width = 2) => String(value).padStart(width, '0')

/** Texts of one format, and the value that shows the order of day and month. */
interface TextForm {
  first: string
  text: fc.Arbitrary<string>
}

const dayForm = fc
  .constantFrom('YYYY-MM-DD', 'YYYY/MM/DD', 'DD.MM.YYYY', 'DD/MM/YYYY', 'MM/DD/YYYY', 'DD-MM-YYYY', 'MM-DD-YYYY')
  .map((format): TextForm => {
    const print = (year: number, month: number, day: number) =>
      format.replace('YYYY', pad(year, 4)).replace('MM', pad(month)).replace('DD', pad(day))
    const text = fc.tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
    )
    return { first: print(2024, 12, 31), text: text.map((parts) => print(...parts)) }
  })
const momentForm = fc
  .tuple(
    dayForm,
    fc.constantFrom(' ', 'T'),
    fc.integer({ min: -2, max: 6 }),
    fc.constantFrom('', 'Z', '+02:00', '-0330'),
  )
  .map(([day, between, scale, zone]): TextForm => {
    const print = (date: string, seconds: number, micros: number) => {
      const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => pad(part))
      const fraction = scale > 0 ? `.${pad(micros, 6).slice(0, scale)}` : ''
      return `${date}${between}${clock.slice(0, scale < -1 ? 2 : 3).join(':')}${fraction}${zone}`
    }
    const text = fc.tuple(day.text, fc.nat(86_399), fc.nat(999_999))
    return { first: print(day.first, 45_000, 0), text: text.map((parts) => print(...parts)) }
  })
const priceForm = (sign: string) =>
  fc.integer({ min: 1, max: 5 }).map((scale): TextForm => {
    const text = fc.tuple(fc.constantFrom('', '-'), fc.nat(1e9), fc.integer({ min: 1, max: 10 ** scale - 1 }))
    return {
      first: `0${sign}${'5'.repeat(scale)}`,
      text: text.map(([minus, whole, fraction]) => `${minus}${whole}${sign}${pad(fraction, scale)}`),
    }
  })
const doneForm = fc
  .constantFrom(['true', 'false'], ['TRUE', 'FALSE'], ['True', 'False'])
  .map((words): TextForm => ({ first: words[0]!, text: fc.constantFrom(...words) }))
const numberForm = fc.constant<TextForm>({ first: '1', text: fc.integer().map(String) })
const noteForm = fc.constant<TextForm>({
  first: 'x',
  text: fc.constantFrom('a, b', 'say "so"', 'two\nlines', 'æøå é', "it's", '007x', '1.234.567'),
})

const quote = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns a CSV file as an export writes it. Each column has one format, and some values are empty. */
const generatedFile = fc.constantFrom('POINT', 'COMMA').chain((decimal) =>
  fc
    .tuple(numberForm, dayForm, momentForm, priceForm(decimal === 'POINT' ? '.' : ','), doneForm, noteForm)
    .chain((columns) => {
      const cells = columns.map(({ text }, index) => (index === 0 ? text : fc.option(text, { nil: '', freq: 5 })))
      return fc.array(fc.tuple(...cells), { minLength: 1, maxLength: 30 }).map((rows) => {
        const lines = [columns.map(({ first }) => first), ...rows].map((row) => row.map(quote).join(','))
        return { decimal, text: ['id,day,moment,price,done,note', ...lines, ''].join('\r\n') }
      })
    }),
)

describe('source formats', () => {
  it('return every generated file byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(generatedFile, async ({ decimal, text }) => {
        const path = await create({ csvOptions: { delimiter: 'COMMA', headerRow: true, footerLines: 0, decimal } })
        await load(path, text)
        const { note, ...formsOfValues } = await readForms(path)
        expect([note, Object.values(formsOfValues).filter((format) => format === undefined)]).toEqual([undefined, []])
        expect(await exportCsv(path)).toBe(text)
      }),
      { numRuns: drawCount({ short: 5, long: 100 }) },
    )
  })

  it('are shown by a preview and by the table, and an export and a page return the values in them', async () => {
    const { body: preview } = await owner
      .post('/data-pipelines/preview-file?name=values.csv')
      .type('text/csv')
      .send(austrian)
      .expect(200)
    expect(formsOf(preview.columns)).toEqual({ ...formats, note: undefined })
    expect(preview.rows[0][1]).toBe('2024-12-31')

    const path = await create()
    await load(path, austrian)
    expect(await readForms(path)).toEqual({ ...formats, note: undefined })
    expect(await exportCsv(path)).toBe(printed)
    expect(await exportCsv(path, '')).toContain('1,2024-12-31,2024-12-31 14:30:00,1234.50,true,')
    const { body: page } = await owner.get(`${path}/data?sourceFormats=true`).expect(200)
    expect(page.rows).toEqual([
      ['1', '31.12.2024', '31.12.2024 14:30', '1234,50', 'TRUE', 'a "quoted" note, with commas'],
      ['2', '01.02.2024', '01.02.2024 09:05', '-0,25', 'FALSE', null],
      ['3', null, null, null, null, ''],
    ])
    const { body: usual } = await owner.get(`${path}/data`).expect(200)
    expect(usual.rows[0].slice(0, 5)).toEqual([1, '2024-12-31', expect.any(String), '1234.50', true])
    const { dataWarehouseTarget: target } = (await owner.get(path).expect(200)).body
    expect(await exportCsv(`/schemas/${loads.schema}/tables/${target.tableName}`)).toBe(printed)
  })

  it('hold for columns that the options rename, for requested types, and for spellings of null', async () => {
    const path = await create({
      csvOptions: {
        nullValues: ['NA'],
        columns: [
          { label: 'code', name: 'number', dataType: 'INTEGER' },
          { label: 'paid', dataType: 'BOOLEAN' },
          { label: 'day', dataType: 'TEXT' },
        ],
      },
    })
    await load(path, 'code,paid,day\n007,Yes,31.12.2024\n012,No,1.2.2024\nNA,NA,NA\n')
    expect(await readForms(path)).toEqual({ number: '000', paid: 'Yes|No', day: undefined })
    expect(await exportCsv(path)).toBe('number,paid,day\r\n007,Yes,31.12.2024\r\n012,No,1.2.2024\r\n,,\r\n')
  })

  it('are those of the newest file if the table is replaced, and return with the rows of a restore', async () => {
    const path = await create()
    await load(path, 'id,day\n1,31.12.2024\n2,30.12.2024\n')
    await load(path, 'id,day\n1,2024-12-31\n2,2024/12/30\n')
    expect(await readForms(path)).toEqual({ id: '0', day: undefined })
    expect(await exportCsv(path)).toBe('id,day\r\n1,2024-12-31\r\n2,2024/12/30\r\n')
    expect(await run(path, {}, 'restore')).toMatchObject({ status: 'OK' })
    expect(await readForms(path)).toEqual({ id: '0', day: 'DD.MM.YYYY' })
    expect(await exportCsv(path)).toBe('id,day\r\n1,31.12.2024\r\n2,30.12.2024\r\n')
  })

  it('are announced once if a file that replaces the table has none', async () => {
    const path = await create()
    await load(path, 'id,price,done\n1,2.50,TRUE\n2,3.75,FALSE\n')
    expect(await load(path, 'id,price,done\n1,2.500,true\n2,4.125,false\n')).not.toContain('source format')
    const lost = [
      'Column "price" no longer has the source format 0.000 of earlier loads, because of "3.5" in line 3.',
      'Column "done" no longer has the source format true|false of earlier loads, because of "False" in line 4.',
      'To keep the format, restore the previous rows',
    ]
    const mixed = 'id,price,done\n1,2.500,true\n2,3.5,TRUE\n3,,False\n'
    const message = await load(path, mixed.replace('TRUE', 'true'))
    expect(message).toContain(lost.join(' '))
    expect(await load(path, mixed)).not.toContain('source format')
    expect(await readForms(path)).toEqual({ id: '0', price: undefined, done: undefined })
  })

  it('are forgotten when an added file has another one, and are kept otherwise', async () => {
    const path = await create({ writeMode: 'APPEND', csvOptions: { decimal: 'COMMA' } })
    await load(path, 'id;price;day\n1;2,50;2024-12-31\n')
    expect(await load(path, 'id;price;day\n2;3,75;2024-11-30\n')).not.toContain('source format')
    expect(await readForms(path)).toEqual({ id: '0', price: '0,00', day: 'YYYY-MM-DD' })
    const lost =
      'Column "price" no longer has the source format 0,00 of earlier loads, because of "4,125" in line 2. To keep'
    expect(await load(path, 'id;price;day\n3;4,125;\n')).toContain(lost)
    expect(await load(path, 'id;price;day\n4;5,250;\n')).not.toContain('source format')
    expect(await readForms(path)).toEqual({ id: '0', price: undefined, day: 'YYYY-MM-DD' })
    expect(await exportCsv(path)).toContain('2,3.750,2024-11-30\r\n')
  })

  it('are announced as lost if the values of an added file have a similar format, or come from JSON', async () => {
    const path = await create({ writeMode: 'APPEND' })
    await load(path, 'id,price,day\n1,.50,31.12.2024\n')
    expect(await load(path, 'id,price,day\n2,1.50,30.12.2024\n')).toContain(
      'Column "price" no longer has the source format #.00 of earlier loads, because the new values have the format 0.00. To keep',
    )
    const json = '[{"id":3,"price":2.5,"day":"2024-12-29"}]'
    expect(await load(path, json, { type: 'application/octet-stream' })).toContain(
      'Column "day" (DD.MM.YYYY) no longer has the source format of earlier loads, because workbooks and JSON have none. To keep',
    )
    const moreJson = json.replace('3', '4')
    expect(await load(path, moreJson, { type: 'application/octet-stream' })).not.toContain('source format')
  })

  it('are not claimed for rows that SQL statements changed, for views, and for JSON', async () => {
    const dataWarehouseTarget = { schema: { id: loads.schema }, tableName: 'changed_prices' }
    const sqlStatements = [{ statement: 'update changed_prices set price = price / 3' }]
    const changed = await create({ dataWarehouseTarget, transformation: { sqlStatements } })
    await load(changed, 'id;price\n1;2,50\n2;3,75\n')
    expect(await readForms(changed)).toEqual({ id: undefined, price: undefined })

    const source = await create()
    await load(source, austrian)
    const { dataWarehouseTarget: target } = (await owner.get(source).expect(200)).body
    const sql = `select day, price from ${target.tableName}`
    const { body: view } = await owner.post('/views').send(viewBody(loads.schema, sql)).expect(201)
    expect(await readForms(`/views/${view.id}`)).toEqual({ day: undefined, price: undefined })
    expect(await exportCsv(`/views/${view.id}`)).toBe(await exportCsv(`/views/${view.id}`, ''))

    const json = await create()
    await load(json, '[{"id":1,"day":"31.12.2024"},{"id":2,"day":"30.12.2024"}]', { type: 'application/octet-stream' })
    expect(await readForms(json)).toEqual({ id: undefined, day: undefined })
  })

  it('are refused for formats that have none', async () => {
    const path = await create()
    await load(path, 'id,day\n1,31.12.2024\n')
    for (const query of ['format=csv&dialect=excel', 'format=parquet', 'format=ndjson', 'format=xlsx'])
      await owner.get(`${path}/data?${query}&sourceFormats=true`).expect(422)
  })
})
