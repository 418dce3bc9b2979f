import { describe, expect, it } from '@jest/globals'
import { identifiers } from './identifiers.ts'

describe('identifiers', () => {
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
  ])('makes %j %j', (label, name) => {
    expect(identifiers([label])).toEqual([name])
  })

  it('numbers what comes to the same name and leaves every other name alone', () => {
    expect(identifiers(['a', 'A', 'a_2', 'á', ''])).toEqual(['a', 'a_3', 'a_2', 'a_4', 'column_5'])
    expect(identifiers(['column_2', ''])).toEqual(['column_2', 'column_2_2'])
  })

  it('keeps to 63 bytes without cutting a character, numbered or not', () => {
    const names = identifiers(['x'.repeat(80), 'x'.repeat(90), '人'.repeat(30), '人'.repeat(40)])
    expect(names).toEqual(['x'.repeat(63), `${'x'.repeat(61)}_2`, '人'.repeat(21), `${'人'.repeat(20)}_2`])
  })

  it('makes 1,600 empty labels unique', () => {
    expect(new Set(identifiers(Array.from({ length: 1600 }, () => ''))).size).toBe(1600)
    expect(new Set(identifiers(Array.from({ length: 1600 }, () => 'a'))).size).toBe(1600)
  })

  it('gives only lower-case identifiers that stay what they are', () => {
    const letters = Array.from({ length: 0x3000 }, (_, code) => `x${String.fromCodePoint(code)}`)
    const lasting = (name: string) => name === name.toLowerCase() && /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(name)
    expect(identifiers(letters).filter((name) => !lasting(name))).toEqual([])
  })
})
