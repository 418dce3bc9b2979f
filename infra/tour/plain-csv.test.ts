import { expect, it } from '@jest/globals'
import { plainCsv, plainValue } from './plain-csv.ts'

it('reads quotes, line breaks in them, empty values and a last line without an end', () => {
  expect(plainCsv('a,b,c\r\n"1,""x""","two\nlines",\n,"",3')).toEqual([
    ['a', 'b', 'c'],
    ['1,"x"', 'two\nlines', ''],
    ['', '', '3'],
  ])
  expect(plainCsv('a,\n')).toEqual([['a', '']])
  expect(() => plainCsv('a"b\n')).toThrow('character 0')
})

it.each([
  ['33.93911000', '33.93911'],
  ['007', '7'],
  ['-0.0', '0'],
  ['+5.', '5'],
  ['.5', '0.5'],
  ['-1.25e1', '-12.5'],
  ['1.25e3', '1250'],
  ['5e-07', '0.0000005'],
  ['12.5e-3', '0.0125'],
  [17, '17'],
  ['', null],
  [null, null],
  ['n/a', 'n/a'],
])('writes the number %s as %s', (given, meant) => {
  expect(plainValue(given, true)).toBe(meant)
})

it('leaves text as it is', () => {
  expect(plainValue('007', false)).toBe('007')
})
