import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parseView } from '../view-definition.ts'
import { createViewStream } from '../view-stream.ts'

const patient = {
  resourceType: 'Patient',
  id: 'p1',
  active: true,
  birthDate: '1990-05',
  name: [
    { use: 'official', family: 'Doe', given: ['Asha', 'B'] },
    { use: 'usual', given: ['Ash'] },
  ],
  telecom: [{ system: 'phone', value: '1' }],
  link: [{ other: { reference: 'https://host/fhir/Patient/p2/_history/3' } }, { other: { reference: '#inside' } }],
  item: [{ linkId: '1', item: [{ linkId: '1.1' }, { linkId: '1.2', item: [{ linkId: '1.2.1' }] }] }, { linkId: '2' }],
}
const names = { name: 'use', valueCode: 'official' }

/** The rows that a select produces from the patient, and the log lines. */
const rows = (select: unknown, more: object = {}): unknown =>
  parseView({ name: 'v', resource: 'Patient', select, ...more }).rows(patient)
const column = (name: string, path: string, more: object = {}) => ({ name, path, ...more })

describe('a FHIR view', () => {
  it.each([
    ['columns', [{ column: [column('id', 'getResourceKey()'), column('on', 'birthDate')] }], [['p1', '1990-05']]],
    [
      'a row for each list element, with its index',
      [
        { column: [column('id', 'id')] },
        { forEach: 'name', column: [column('at', '%rowIndex'), column('f', 'family')] },
      ],
      [
        ['p1', 0, 'Doe'],
        ['p1', 1, null],
      ],
    ],
    ['no row for an empty list with forEach', [{ forEach: 'contact', column: [column('n', 'name')] }], []],
    [
      'one row of nulls for an empty list with forEachOrNull',
      [{ forEachOrNull: 'contact', column: [column('n', 'name')] }],
      [[null]],
    ],
    ['lists', [{ column: [column('given', 'name.given', { collection: true })] }], [[['Asha', 'B', 'Ash']]]],
    ['constants', [{ column: [column('f', 'name.where(use = %use).family')] }], [['Doe']]],
    [
      'the rows of each part of unionAll',
      [
        {
          unionAll: [
            { forEach: 'name', column: [column('v', 'use')] },
            { forEach: 'telecom', column: [column('v', 'system')] },
          ],
        },
      ],
      [['official'], ['usual'], ['phone']],
    ],
    [
      'the nested elements of all levels with repeat',
      [{ repeat: ['item'], column: [column('id', 'linkId')] }],
      [['1'], ['1.1'], ['1.2'], ['1.2.1'], ['2']],
    ],
    ['keys of referenced resources', [{ column: [column('to', 'link.other.getReferenceKey(Patient)')] }], [['p2']]],
    [
      'no key of a reference to another resource type',
      [{ column: [column('to', 'link.other.getReferenceKey(Group)')] }],
      [[null]],
    ],
  ])('has %s', (_what, select, found) => {
    expect(rows(select, { constant: [names] })).toEqual(found)
  })

  it('has only the rows that match its where conditions', () => {
    const select = [{ column: [column('id', 'id')] }]
    expect(rows(select, { where: [{ path: 'active.not()' }] })).toEqual([])
    expect(rows(select, { where: [{ path: "name.exists(use = 'usual')" }, { path: 'active' }] })).toEqual([['p1']])
  })

  it.each([
    ['several values for one column', [{ column: [column('g', 'name.given')] }], /3 values/],
    ['a duplicate column', [{ column: [column('a', 'id'), column('a', 'id')] }], /two columns "a"/],
    ['an invalid column name', [{ column: [column('a b', 'id')] }], /letters, digits/],
    ['an unknown constant', [{ column: [column('a', '%other')] }], /FHIRPath "%other"/],
    [
      'parts of unionAll with different columns',
      [{ unionAll: [{ column: [column('a', 'id')] }, { column: [column('b', 'id')] }] }],
      /unionAll/,
    ],
    ['no columns', [{}], /no columns/],
  ])('is rejected if it has %s', (_what, select, sentence) => {
    expect(() => rows(select)).toThrow(sentence)
  })

  it('is rejected if nested lists or unions make more than 100,000 rows', () => {
    const wide = { ...patient, telecom: Array.from({ length: 400 }, (_, at) => ({ value: String(at) })) }
    const select = [0, 1].map((at) => ({ forEach: 'telecom', column: [column(`v${at}`, 'value')] }))
    expect(() => parseView({ name: 'v', resource: 'Patient', select }).rows(wide)).toThrow(/more than 100000 rows/)
    const one = { forEach: 'telecom', column: [column('v', 'value')] }
    const tall = { name: 'v', resource: 'Patient', select: [{ unionAll: Array.from({ length: 300 }, () => one) }] }
    expect(() => parseView(tall).rows(wide)).toThrow(/more than 100000 rows/)
  })

  it('is rejected if its rows have more than 500,000 values', () => {
    const wide = { ...patient, name: Array.from({ length: 100_000 }, () => ({ use: 'usual' })) }
    const columns = Array.from({ length: 100 }, (_, at) => column(`c${at}`, 'use'))
    const view = parseView({ name: 'v', resource: 'Patient', select: [{ forEach: 'name', column: columns }] })
    expect(() => view.rows(wide)).toThrow(/more than 500000 values, in at least 5001 rows of 100 columns/)
    const select = ['telecom', 'name'].map((forEach, part) => ({
      forEach,
      column: columns.slice(0, 50).map(({ name, path }) => column(`${name}_${part}`, path)),
    }))
    const few = { telecom: wide.name.slice(0, 100), name: wide.name.slice(0, 100) }
    expect(() => parseView({ name: 'v', resource: 'Patient', select }).rows(few)).toThrow(/each element of one list/)
  })

  it.each([
    ['its start element', ['$this']],
    ['the same path twice, at every level', ['item', 'item']],
  ])('is rejected as a cycle if it repeats %s', (_what, repeat) => {
    const item = Array.from({ length: 40 }).reduce<object>((below) => ({ linkId: 'x', item: [below] }), {})
    const select = [{ repeat, column: [column('id', 'linkId')] }]
    expect(() => parseView({ name: 'v', resource: 'Patient', select }).rows({ item: [item] })).toThrow(/has a cycle/)
  })
})

describe('the rows of a FHIR view', () => {
  it('are split into pages of at most 500 for one resource', async () => {
    const select = [{ forEach: 'name', column: [column('use', 'use')] }]
    const { readPages: pages } = createViewStream(
      parseView({ name: 'v', resource: 'Patient', select }),
      async function* () {
        yield { records: [{ id: 'a', name: Array.from({ length: 1_200 }, (_, at) => ({ use: at })) }] }
      },
    )
    const sizes: number[] = []
    for await (const { records } of pages(undefined)) sizes.push(records.length)
    expect(sizes).toEqual([500, 500, 200])
  })

  it('are read resource by resource, and only once for a repeated id', async () => {
    const view = parseView({ name: 'v', resource: 'Patient', select: [{ column: [column('id', 'id')] }] })
    const { readPages: pages } = createViewStream(view, async function* () {
      yield { records: [{ id: 'a' }, {}, { id: 'a' }, {}, { id: 'b' }] }
    })
    const found = await Array.fromAsync(pages(undefined), ({ records }) => records)
    expect(found).toEqual([[{ id: 'a' }], [{ id: null }], [{ id: null }], [{ id: 'b' }]])
  })

  it('have a TEXT column for an unknown type', () => {
    const select = [{ column: [column('id', 'id', { type: 'constructor' })] }]
    const { columns } = createViewStream(parseView({ name: 'v', resource: 'Patient', select }), async function* () {})
    expect(columns).toEqual([{ path: 'id', isAlwaysCreated: true, dataType: 'TEXT' }])
  })
})

/** Cases of the specification, from a copy of its repository: `SLUICE_SQL_ON_FHIR=…/tests`. */
const folder = process.env['SLUICE_SQL_ON_FHIR'] ?? ''
const cases = (folder === '' ? [] : globSync('*.json', { cwd: folder })).flatMap((file) => {
  const { resources, tests = [] } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  return tests.map((test: any) => [`${file}: ${test.title}`, { ...test, resources }])
})
const written = (row: object): string => JSON.stringify(Object.entries(row).toSorted())
/** Boundaries are on trial there; what is joined of nothing is nothing in FHIRPath, and an empty text in two of these cases. */
const others = /Boundary|string join/

describe(`the cases of SQL on FHIR${folder === '' ? ' (set SLUICE_SQL_ON_FHIR)' : ''}`, () => {
  const add = cases.length === 0 ? it.skip : it
  add.each(cases.length === 0 ? [['none', {}]] : cases.filter(([name]: [string]) => !others.test(name)))(
    '%s',
    (_name: string, { view: definition, resources, expect: wanted, expectError }: any) => {
      const found = () => {
        const view = parseView(definition)
        const own = resources.filter((one: any) => one.resourceType === view.resource)
        const all: (readonly unknown[])[] = own.flatMap((one: any) => view.rows(one))
        return all.map((row) => Object.fromEntries(view.columns.map(({ name }, at) => [name, row[at]])))
      }
      if (expectError) expect(found).toThrow()
      else expect(found().map(written).toSorted()).toEqual(wanted.map(written).toSorted())
    },
  )
})
