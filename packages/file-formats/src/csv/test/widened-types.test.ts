import { closeSync, openSync } from 'node:fs'
import { afterAll, describe, expect, it } from '@jest/globals'
import type { ColumnOptions } from '../../delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits } from '../../delimited/limits.ts'
import { type ReadReporter, type RejectedRow, TypesWidened } from '@sluice/row-stream'
import { readCsv } from '../csv-source.ts'
import { chunksOf, inputFolder, readThroughThread } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const never = new AbortController().signal
/** So little is looked at that the first row alone makes the guess. */
const hasty = {
  ...defaultDelimitedLimits,
  readBytes: 256,
  wholeBytes: 0,
  sampleBytes: 1,
  slices: 0,
  chunkBytes: 256,
  chunksInFlight: 2,
}

describe('a CSV file whose sampled types are too narrow', () => {
  it('fails with TypesWidened and types for all rows, and is then read again', async () => {
    const late = Array.from({ length: 500 }, (_, row) => `${row},2024-01-31,x\n`).join('')
    const path = folder.write(`n,day,t\n1,2024-01-31,y\n${late}70000.25,2024-01-31 10:00,\nodd\n`)
    const heard: string[] = []
    const report: ReadReporter = {
      progress: () => {},
      reject: (row: RejectedRow) => heard.push(`rejected ${row.line}`),
      rejectMore: () => {},
      startOver: async () => void heard.push('anew'),
      log: () => {},
    }
    const dialect = {
      delimiter: 'COMMA',
      quote: 'DOUBLE',
      headerRow: true,
      headerLines: 1,
      skipLines: 0,
      footerLines: 0,
    } as const
    for await (const rowStream of readCsv({ path, fileName: 'x.csv', ...dialect }, report, never, hasty)) {
      expect(rowStream.columns.map(({ dataType }) => dataType)).toEqual(['SMALLINT', 'DATE', 'TEXT'])
      const failure = await Array.fromAsync(chunksOf(rowStream)).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(TypesWidened)
      const { columns } = failure as TypesWidened
      expect(columns).toEqual([
        { name: 'n', label: 'n', dataType: 'DECIMAL', precision: 7, scale: 2 },
        { name: 'day', label: 'day', dataType: 'TIMESTAMP' },
        { name: 't', label: 't', dataType: 'TEXT' },
      ])
      heard.push('told')
      const chunks = await Array.fromAsync(chunksOf({ ...rowStream, columns }))
      expect(chunks.length).toBeGreaterThan(10)
    }
    expect(heard.slice(heard.indexOf('told'))).toEqual(['told', 'anew', expect.stringMatching(/^rejected 50\d$/)])
  })
})

describe('a CSV file with configured columns', () => {
  const columns: ColumnOptions[] = [
    { label: 'Ref No', name: 'reference', dataType: 'TEXT' },
    { index: 1, dataType: 'INTEGER' },
    { label: 'day', dateFormat: 'DD/MM/YYYY' },
  ]

  it('has the configured types and names, and rejects rows that do not fit', async () => {
    const path = folder.write('Ref No,n,day\n007,+1,02/03/2024\n8,many,02/03/2024\n9,2,31/31/2024\n,,\n')
    const whole = await readThroughThread({ path, columns, nullValues: ['-'] })
    expect(whole.columns).toEqual([
      { name: 'reference', label: 'Ref No', dataType: 'TEXT', evidence: 'REQUESTED' },
      { name: 'n', label: 'n', dataType: 'INTEGER', evidence: 'REQUESTED' },
      { name: 'day', label: 'day', dataType: 'DATE', evidence: 'REQUESTED' },
    ])
    expect(whole.rows.map((row) => row.map((value) => value?.toString('hex') ?? null))).toEqual([
      ['303037', '00000001', '0000227b'],
      [null, null, null],
    ])
    expect(whole.rejected).toEqual([
      { line: 3, column: 'n', reason: '"many" is not a valid INTEGER', raw: '8,many,02/03/2024' },
      { line: 4, column: 'day', reason: '"31/31/2024" is not a valid DATE', raw: '9,2,31/31/2024' },
    ])
  })

  it('is read from a descriptor that stays open', async () => {
    const descriptor = openSync(folder.write('a,b\n1,x\n'), 'r')
    const whole = await readThroughThread({ path: descriptor })
    expect(whole.rows).toHaveLength(1)
    closeSync(descriptor)
  })
})
