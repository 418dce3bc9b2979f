import { describe, expect, it } from '@jest/globals'
import type { ColumnOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits, type DelimitedLimits } from '../../src/delimited/limits.ts'
import { startScanner } from '../../src/delimited/wasm-scanner.ts'
import { DelimitedReader } from '../../src/delimited/delimited-reader.ts'
import type { StoredType } from '@sluice/row-stream'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { textOf } from './read-text.ts'
import { tuplesOf } from './decode-copy-tuples.ts'

const wasm = startScanner()

/** Reads a text as a load does: as `store` says for the columns that the reading offers, again as long as types widen. */
function load(
  text: string,
  store: (columns: readonly StoredType[]) => StoredType[],
  { limits = defaultDelimitedLimits, columns = [] }: { limits?: DelimitedLimits; columns?: ColumnOptions[] } = {},
) {
  const source = textOf(text)
  const { dialect } = detectText(source, { delimiter: 'COMMA', headerRow: true, headerLines: 1, columns })
  const reading = new DelimitedReader(source, dialect, limits, wasm)
  for (let passes = 1; passes <= 10; passes++) {
    const rows: (Buffer | null)[][] = []
    const rejected: number[] = []
    const pass = reading.encode(store(reading.columns))
    for (;;) {
      const step = pass.next()
      if (!step.done) {
        rows.push(...tuplesOf(Buffer.from(step.value.tuples)))
        rejected.push(...step.value.rejected.map(({ line }) => line))
      } else if ('widened' in step.value) break
      else return { rows, rejected, passes, columns: reading.columns }
    }
  }
  throw new Error('The types never settle')
}

const numeric = (): StoredType[] => [{ dataType: 'DECIMAL' }, { dataType: 'TEXT' }]

describe('a column whose stored type differs from its inferred type', () => {
  it('accepts doubles with an exponent if the stored type is DECIMAL', () => {
    const { rows, rejected, passes } = load('n,t\n1.5e+300,a\n-2.5E-3,b\n7,c\n.5e1,d\n', numeric)
    expect([rows.length, rejected, passes]).toEqual([4, [], 1])
    // 1.5e+300 is one digit of base 10,000, 1, and one more, 5000: weight 75, scale 0.
    expect(rows[0]![0]).toEqual(Buffer.from([0, 2, 0, 75, 0, 0, 0, 0, 0, 1, 0x13, 0x88]))
    expect(rows[1]![0]).toEqual(Buffer.from([0, 1, 0xff, 0xff, 0x40, 0, 0, 4, 0, 25]))
    expect(rows[3]![0]).toEqual(Buffer.from([0, 1, 0, 0, 0, 0, 0, 0, 0, 5]))
  })

  it('rejects the only row that does not fit a narrower stored type', () => {
    const narrow = (): StoredType[] => [{ dataType: 'SMALLINT' }, { dataType: 'TEXT' }]
    const { rows, rejected } = load('n,t\n1,a\n2,b\n3.5e+7,c\n', narrow)
    expect([rows.length, rejected]).toEqual([2, [4]])
  })

  it('rejects that row also if the types are inferred from samples', () => {
    const limits = {
      ...defaultDelimitedLimits,
      wholeBytes: 100,
      sampleBytes: 100,
      slices: 1,
      sliceBytes: 50,
      readBytes: 4096,
    }
    const lines = Array.from({ length: 4_000 }, (_, index) => `${index === 2_000 ? '3.5e+7' : index % 100},x\n`)
    const store = (columns: readonly StoredType[]): StoredType[] =>
      columns[0]!.dataType === 'DOUBLE' ? [{ dataType: 'SMALLINT' }, { dataType: 'TEXT' }] : [...columns]
    const { rows, rejected, columns } = load(`n,t\n${lines.join('')}`, store, { limits })
    expect([rows.length, rejected, columns[0]!.dataType]).toEqual([3_999, [2_002], 'DOUBLE'])
  })

  it.each([
    ['JSONB', ['"{""x"":1}"', '"[1,2]"', '7'], ['{"x":1}', '[1,2]', '7'], '{x'],
    ['FLOAT', ['1.5', '7', '2e3'], ['1.5', '7', '2e3'], 'x'],
  ] as const)(
    'keeps the written values of a declared %s if the stored type is TEXT',
    (dataType, values, texts, bad) => {
      const text = `n,t\n${[...values, bad].map((value) => `${value},a\n`).join('')}`
      const store = (): StoredType[] => [{ dataType: 'TEXT' }, { dataType: 'TEXT' }]
      const { rows, rejected } = load(text, store, { columns: [{ index: 0, dataType, declared: true }] })
      expect(rows.map(([n]) => n!.toString())).toEqual(texts)
      expect(rejected).toEqual([values.length + 2])
    },
  )
})
