import { describe, expect, it } from '@jest/globals'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { inputFolder, readInPlace } from './read-whole-file.ts'

const folder = inputFolder()

async function typeOf(values: string[]): Promise<string> {
  const path = folder.write(`value,end\n${values.map((value) => `${value},\n`).join('')}`)
  const whole = await readInPlace(path, { delimiter: 'COMMA', headerRow: true }, defaultDelimitedLimits)
  if ('problem' in whole) throw new Error(whole.problem)
  const { dataType, precision, scale } = whole.columns[0]!
  expect(whole.rows.map(([value]) => value ?? '')).toEqual(values.map((value) => value.replaceAll('"', '')))
  return precision === undefined ? dataType : `${dataType}(${precision},${scale})`
}

const many = (digit: string, times: number) => digit.repeat(times)

describe('an inferred column type', () => {
  it.each([
    ['BOOLEAN', ['true', 'FALSE', 'True', '']],
    ['TEXT', ['true', '1']],
    ['TEXT', ['yes', 'no']],
    ['TEXT', ['t']],
    ['SMALLINT', ['0', '-32768', '32767']],
    ['SMALLINT', ['"1"', '2', '""']],
    ['INTEGER', ['32768', '-2147483648', '2147483647']],
    ['INTEGER', ['-32769']],
    ['BIGINT', ['2147483648', '1']],
    ['BIGINT', ['9223372036854775807', '-9223372036854775808']],
    ['DECIMAL(19,0)', ['9223372036854775808']],
    ['DECIMAL(19,0)', ['-9223372036854775809', '1']],
    ['DECIMAL(38,0)', [many('9', 38)]],
    ['TEXT', [many('9', 39)]],
    ['DECIMAL(2,1)', ['0.5', '-0.5', '.5']],
    ['DECIMAL(8,3)', ['12345', '0.125']],
    ['DECIMAL(4,2)', ['1.50', '-10']],
    ['DECIMAL(3,2)', ['-0.00', '1.00']],
    ['DECIMAL(38,38)', [`0.${many('1', 38)}`]],
    ['DOUBLE', [`0.${many('1', 39)}`]],
    ['DOUBLE', [`.${many('1', 30)}`, '123456789']],
    ['TEXT', [`.${many('1', 30)}`, many('1', 20)]],
    ['DOUBLE', ['1e+5', '-2.5E-3', '3', '0.1']],
    // Codes, such as ICD-11 has them.
    ['TEXT', ['1E30', '1E31', '2E05']],
    ['TEXT', ['1.5', '-7e2']],
    ['DOUBLE', ['1.7976931348623157e308', '5e-324', '0e+999', '0.0E-999']],
    ['TEXT', ['1e+309']],
    ['TEXT', ['1e-400']],
    ['TEXT', [`1e${many('9', 20)}`]],
    ['TEXT', ['1e+5', '1234567890123456']],
    ['DOUBLE', ['-0', '12']],
    ['TEXT', ['-0', '1234567890123456']],
    ['TEXT', ['007']],
    ['TEXT', ['-01']],
    ['TEXT', ['00.5']],
    ['TEXT', ['+1']],
    ['TEXT', ['1 ']],
    ['TEXT', [' 1']],
    ['TEXT', ['5.']],
    ['TEXT', ['.']],
    ['TEXT', ['-']],
    ['TEXT', ['-.']],
    ['TEXT', ['1e']],
    ['TEXT', ['e5']],
    ['TEXT', ['1e+']],
    ['TEXT', ['0x10']],
    ['TEXT', ['1_000']],
    ['TEXT', ["1'000"]],
    ['TEXT', ['1.000.000']],
    ['TEXT', ['NaN']],
    ['TEXT', ['Infinity', '1e+5']],
    ['TEXT', ['=cmd|/c calc']],
    ['TEXT', [many('1', 1000)]],
    ['DATE', ['2024-02-29', '0001-01-01', '9999-12-31', '2000-02-29']],
    ['TEXT', ['2023-02-29']],
    ['TEXT', ['1900-02-29']],
    ['TEXT', ['2024-04-31']],
    ['TEXT', ['2024-13-01']],
    ['TEXT', ['2024-00-01']],
    ['TEXT', ['2024-01-00']],
    ['TEXT', ['0000-01-01']],
    ['TEXT', ['10000-01-01']],
    ['TEXT', ['2024-1-1']],
    ['TEXT', ['31.02.2026']],
    ['TEXT', ['2024-01-01 ']],
    ['TIMESTAMP', ['2024-01-31T23:59:59', '2024-01-31 00:00', '2024-01-31 00:00:00.123456']],
    ['TIMESTAMP', ['2024-01-31', '2024-01-31 10:00:00']],
    ['TEXT', ['2024-01-31T24:00:00']],
    ['TEXT', ['2024-12-31T23:59:60']],
    ['TEXT', ['2024-01-31T23:60']],
    ['TEXT', ['2024-01-31T10']],
    ['TEXT', ['2024-01-31T10:00:']],
    ['TEXT', ['2024-01-31T10:00:00.']],
    ['TEXT', ['2024-01-31T10:00:00.1234567']],
    ['TEXT', ['2024-01-31t10:00:00']],
    [
      'TIMESTAMPTZ',
      ['2024-01-31T10:00Z', '2024-01-31 10:00:00.5+02', '2024-01-31T10:00:00-03:30', '2024-01-31T10:00:00.000+0000'],
    ],
    ['TEXT', ['2024-01-31T10:00:00+16:00']],
    ['TEXT', ['2024-01-31T10:00:00+2']],
    ['TEXT', ['2024-01-31T10:00:00 +02']],
    ['TEXT', ['2024-01-31T10:00Z', '2024-01-31T10:00']],
    ['TEXT', ['2024-01-31T10:00Z', '2024-01-31']],
    ['TEXT', ['2024-01-31', '20240131']],
    ['TEXT', ['', '', '']],
    ['DATE', ['2024/01/31', '2024/02/29']],
    ['DATE', ['31.01.2024', '01.02.0003']],
    ['TIMESTAMP', ['31.01.2024 10:00', '01.02.2024']],
    ['TIMESTAMPTZ', ['2024/01/31T10:00:00.5Z']],
    ['DATE', ['02/03/2024', '31/01/2024']],
    ['DATE', ['02/03/2024', '01/31/2024']],
    ['DATE', ['13-02-2024', '02-03-2024']],
    ['TEXT', ['02/03/2024', '05/05/2024']],
    ['TEXT', ['02-03-2024']],
    ['TEXT', ['31/01/2024', '01/31/2024']],
    ['TEXT', ['2024-01-31', '31.01.2024']],
    ['TEXT', ['2024/01/31', '2024-01-31']],
    ['TEXT', ['31/01/2024', '31-01-2024']],
    ['TEXT', ['1/2/2024']],
    ['TEXT', ['31.02.2024']],
    ['INTEGER', ['20240131']],
  ] as [string, string[]][])('is %s for the values %j', async (type, values) => {
    expect(await typeOf(values)).toBe(type)
  })

  it('depends also on the last row', async () => {
    const values = Array.from({ length: 100_000 }, (_, index) => String(index))
    expect(await typeOf([...values, 'n/a'])).toBe('TEXT')
    expect(await typeOf([...values, '0.5'])).toBe('DECIMAL(6,1)')
  })
})
