import { describe, expect, it } from '@jest/globals'
import { toUniqueIdentifiers } from './identifiers.ts'

describe('toUniqueIdentifiers', () => {
  it.each([
    ['Country_Region', 'country_region'],
    ['Increase rate', 'increase_rate'],
    ['Country/Region', 'country_region'],
    ['  Größe (cm) ', 'grosse_cm'],
    ['Ærø', 'aero'],
    ['Déjà vu', 'deja_vu'],
    ['orgUnitID', 'org_unit_id'],
    ['GDPPerCapita', 'gdp_per_capita'],
    ['COVID19Cases', 'covid19_cases'],
    ['UID', 'uid'],
    ['m²', 'm2'],
    ['2020', '_2020'],
    ['select', 'select'],
    ['Население', 'население'],
    ['Йод', 'йод'],
    ['人口', '人口'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
    ['हिन्दी', 'हिन्दी'],
    ['İstanbul', 'istanbul'],
    ['K (Kelvin)', 'k_kelvin'],
    ['xmin', 'xmin_value'],
    ['a"b; DROP TABLE x --', 'a_b_drop_table_x'],
    ['😀', 'column_1'],
    ['', 'column_1'],
    ['___', 'column_1'],
  ])('converts %j to %j', (label, name) => {
    expect(toUniqueIdentifiers([label])).toEqual([name])
  })

  it('numbers labels with equal names, and keeps every other name', () => {
    expect(toUniqueIdentifiers(['a', 'A', 'a_2', 'á', ''])).toEqual(['a', 'a_3', 'a_2', 'a_4', 'column_5'])
    expect(toUniqueIdentifiers(['column_2', ''])).toEqual(['column_2', 'column_2_2'])
  })

  it('shortens names to 63 bytes, including the number, without splitting a character', () => {
    const names = toUniqueIdentifiers(['x'.repeat(80), 'x'.repeat(90), '人'.repeat(30), '人'.repeat(40)])
    expect(names).toEqual(['x'.repeat(63), `${'x'.repeat(61)}_2`, '人'.repeat(21), `${'人'.repeat(20)}_2`])
  })

  it('makes 1,600 empty labels unique', () => {
    expect(new Set(toUniqueIdentifiers(Array.from({ length: 1600 }, () => ''))).size).toBe(1600)
    expect(new Set(toUniqueIdentifiers(Array.from({ length: 1600 }, () => 'a'))).size).toBe(1600)
  })

  it('numbers labels that differ only in case, accents or width, except the first one', () => {
    expect(toUniqueIdentifiers(['Name', 'NAME', 'name', 'ñame', 'na me', 'ｎａｍｅ'])).toEqual([
      'name',
      'name_2',
      'name_3',
      'name_4',
      'na_me',
      'name_5',
    ])
  })

  it('keeps reserved words of SQL, because names are quoted', () => {
    const words = ['SELECT', 'user', 'table', 'order', 'group', 'primary', 'null']
    expect(toUniqueIdentifiers(words)).toEqual(words.map((word) => word.toLowerCase()))
  })

  it('avoids the names of system columns, also if another label has the replacement', () => {
    expect(toUniqueIdentifiers(['ctid', 'CTID', 'ctid value', 'tableoid'])).toEqual([
      'ctid_value',
      'ctid_value_2',
      'ctid_value_3',
      'tableoid_value',
    ])
  })

  it('names empty labels by their position, unless another label has that name', () => {
    expect(toUniqueIdentifiers(['', ' ', '\u00a0', '-', 'column_2', 'column_4_2'])).toEqual([
      'column_1',
      'column_2_2',
      'column_3',
      'column_4',
      'column_2',
      'column_4_2',
    ])
  })

  it.each([
    ['a\nb\tc', 'a_b_c'],
    ['\ufeffid', 'id'],
    ['a\u200db\u202ec', 'a_b_c'],
    ['عدد السكان', 'عدد_السكان'],
    ['จำนวนประชากร', 'จํานวนประชากร'],
    ['人口（千人）', '人口_千人'],
    ['Nombre d’habitants', 'nombre_d_habitants'],
    ['% of total', 'of_total'],
    ['Straße Nr.', 'strasse_nr'],
    ['№ п/п', 'no_п_п'],
    ['½ year', '_1_2_year'],
    ['x\0y', 'x_y'],
  ])('converts %j to %j', (label, name) => {
    expect(toUniqueIdentifiers([label])).toEqual([name])
  })

  it('converts random labels to unique names of at most 63 bytes, and converts these names to themselves', () => {
    let state = 7
    const below = (end: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * end)
    }
    const alphabets = ['aAbB_ -1', 'äÄßŁø', 'жЖйЙ', '人口', 'हिन्दी', '😀 .,', '\u0301\u0308']
    const letter = (alphabet: string[]) => alphabet[below(alphabet.length)]!
    for (let table = 0; table < 300; table++) {
      const alphabet = [...alphabets[below(alphabets.length)]!, ...alphabets[below(alphabets.length)]!]
      const labels = Array.from({ length: 1 + below(40) }, () =>
        Array.from({ length: below(below(5) === 0 ? 90 : 4) }, () => letter(alphabet)).join(''),
      )
      const names = toUniqueIdentifiers(labels)
      expect(new Set(names).size).toBe(labels.length)
      expect(names.filter((name) => name === '' || Buffer.byteLength(name) > 63)).toEqual([])
      expect(toUniqueIdentifiers(labels)).toEqual(names)
      expect({ labels, again: toUniqueIdentifiers(names) }).toEqual({ labels, again: names })
    }
  })

  it('returns lower-case letters, marks, digits and underscores only', () => {
    const labels = Array.from({ length: 0x3000 }, (_, code) => `x${String.fromCodePoint(code)}`)
    const isPlain = (name: string) => name === name.toLowerCase() && /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(name)
    expect(toUniqueIdentifiers(labels).filter((name) => !isPlain(name))).toEqual([])
  })

  it('converts a label with millions of marks before the test times out', () => {
    const label = `a${'\u0301\u0316'.repeat(2_000_000)}`
    expect(toUniqueIdentifiers([label, 'a'])).toEqual(['a', 'a_2'])
  })
})
