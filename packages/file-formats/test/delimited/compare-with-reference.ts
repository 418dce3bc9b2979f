import { expect } from '@jest/globals'
import type { ColumnType } from '../../src/delimited/dialect/column-type.ts'
import { grammarAtRandom, grammarOf } from './grammar-fixtures.ts'
import { below, charactersAtRandom, pick, type Random, rowsAtRandom, seeded } from './random-files.ts'
import { textOf } from './read-text.ts'
import { readText } from './read-whole-file.ts'
import { readByReference } from './reference-reader.ts'

/**
 * Reads one random file with the reader and with the reference reader, and expects the same types, cells and rejected rows.
 * The error contains everything for another run of the seed.
 */
export function compareOne(seed: number): void {
  const random = seeded(seed)
  const grammar = grammarAtRandom(random)
  const { delimiter } = grammar
  const headerRow = random() < 0.8
  const decimal = random() < 0.9 || delimiter === ',' ? '.' : ','
  const nulls = random() < 0.8 ? [] : pick(random, [['NULL'], ['a', 'x y'], ['-12', '7', 'Ü'], ['\\N']])
  const characters = random() < 0.5 ? charactersAtRandom(random) : rowsAtRandom(random, delimiter)
  const content = Buffer.from(characters, 'latin1')
  const limits = limitsAtRandom(random)
  const given = random() < 0.8 ? [] : givenAtRandom(random)
  const trailing = random() < 0.9 ? 0 : 1 + below(random, 2)
  const dialect = { ...grammar, headerRow, decimal, nulls, given, trailing } as const
  const expected = readByReference(content, { ...dialect, recordBytes: limits.recordBytes })
  if ('problem' in expected) return
  const { from, line, labels } = expected
  const plain = {
    ...grammarOf(grammar),
    from,
    line,
    end: content.length,
    headerLine: headerRow ? 1 : 0,
    labels,
    trailing,
    decimal: decimal.charCodeAt(0),
    nulls,
    columns: labels.map((_, column) => given[column]),
  }
  const context = `seed ${seed}, ${JSON.stringify({ ...dialect, limits })}, input ${JSON.stringify(characters)}`
  try {
    const fast = readText(textOf(content), plain, limits)
    const types = fast.columns.map(({ dataType, precision, scale }, column) =>
      precision === undefined || given[column] ? dataType : `${dataType}(${precision},${scale})`,
    )
    same(types, expected.types)
    same(fast.rows, expected.rows)
    // Of a record over the limit only as much is shown as was read before it was given up.
    const compared = (raw: string) => (limits.recordBytes < 100 ? raw.slice(0, 2) : raw)
    same(
      fast.rejected.map((row) => [row.line, compared(row.raw)]),
      expected.rejected.map((row) => [row.line, compared(shown(row.raw))]),
    )
    for (const [index, { reason }] of fast.rejected.entries()) {
      if (!expected.rejected[index]!.reason.test(reason)) expect(reason).toMatch(expected.rejected[index]!.reason)
    }
  } catch (error) {
    throw new Error(`${context}\n${(error as Error).message}`, { cause: error })
  }
}

/** What jest compares, only where it differs: jest's own comparison takes most of the time. */
function same(one: unknown, other: unknown): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) expect(one).toEqual(other)
}

function limitsAtRandom(random: Random) {
  return {
    readBytes: 7 + below(random, 58),
    chunkBytes: 7 + below(random, 58),
    chunksInFlight: 1,
    recordBytes: random() < 0.3 ? 10 + below(random, 40) : 10_000,
    wholeBytes: random() < 0.5 ? 0 : 10_000,
    sampleBytes: below(random, 60),
    slices: below(random, 4),
    sliceBytes: below(random, 60),
  }
}

const someGiven: readonly (ColumnType | undefined)[] = [
  undefined,
  { dataType: 'INTEGER' },
  { dataType: 'BOOLEAN' },
  { dataType: 'DECIMAL', precision: 6, scale: 2 },
  { dataType: 'DOUBLE' },
  { dataType: 'DATE' },
  { dataType: 'DATE', dateFormat: 'YYYYMMDD' },
  { dataType: 'TIMESTAMP', dateFormat: 'DD/MM/YYYY' },
  { dataType: 'TIMESTAMPTZ' },
  { dataType: 'TEXT' },
  { dataType: 'VARCHAR_50' },
]

function givenAtRandom(random: Random): (ColumnType | undefined)[] {
  return Array.from({ length: 5 }, () => pick(random, someGiven))
}

const shown = (raw: string) => Buffer.from(raw, 'latin1').toString('utf8').replaceAll('\0', '␀')
