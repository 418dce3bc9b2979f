import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import type { RejectedRow, ReadReporter } from '@sluice/row-stream'
import { RecordFlattener } from '../records/flatten-record.ts'
import { RecordTables } from '../records/record-tables.ts'
import { createTablesReporter } from '../tables-reporter.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-hostile-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** What was set aside of records, and whether the others became rows. */
async function taken(records: readonly unknown[]) {
  const rejected: RejectedRow[] = []
  const report: ReadReporter = {
    progress: () => {},
    reject: (row) => void rejected.push(row),
    rejectMore: () => {},
    startOver: async () => {},
    log: () => {},
  }
  const told = createTablesReporter(report)
  await using tables = new RecordTables({ table: 't', key: ['id'] }, directory, 1_000_000_000)
  for (const [index, record] of records.entries()) told.tryRecord(index + 1, record, () => tables.add(record))
  await tables.openFiles()
  tables.flush()
  return {
    rejected,
    rows: tables.rootTable.spooled.rowCount,
    columns: tables.rootTable.spooled.valueKinds.size,
    tables: tables.spooledTables.length,
  }
}

const flattenRecord = (record: object, id: number) => new RecordFlattener().flatten(record, id)
const list = (count: number): object[] => Array.from({ length: count }, () => ({}))

describe('a record that expands when it is flattened', () => {
  it.each<[string, object, string]>([
    ['a name of a field', { id: 1, ['k'.repeat(501)]: 'x' }, 'name longer than 500'],
    [
      'a name of a group, which each of its rows repeats',
      { id: 1, ['k'.repeat(1_000_000)]: list(2) },
      'longer than 500',
    ],
    ['a path', JSON.parse(`${`{"${'k'.repeat(400)}":`.repeat(6)}1${'}'.repeat(6)}`), 'path longer than 2000'],
    ['the id of a row', JSON.parse(`${`{"${'k'.repeat(400)}":[`.repeat(6)}{}${']}'.repeat(6)}`), 'id longer than 2000'],
  ])('is rejected for %s that is too long', (_what, record, reason) => {
    expect(() => flattenRecord(record, 1)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(reason) }),
    )
  })

  it('is rejected if the names of all its rows are too long in total', () => {
    const cells = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [index, 1]))
    const row = { ['k'.repeat(500)]: { ['k'.repeat(500)]: { ['k'.repeat(500)]: cells } } }
    expect(() => flattenRecord({ rows: [row] }, 1)).not.toThrow()
    expect(() => flattenRecord({ rows: Array.from({ length: 30 }, () => row) }, 1)).toThrow('exceed 50 MB')
  })

  it('is accepted with long field names that contain the groups of a question', () => {
    const key = `${'group_of_questions/'.repeat(30)}age`
    const flattener = new RecordFlattener()
    const [row] = flattener.flatten({ [key]: 7 }, 1)
    expect(flattener.formatFields(row!)).toBe(`${JSON.stringify(key)}:7`)
  })

  it('is rejected with a shortened text, and is not kept in memory', async () => {
    const records = Array.from({ length: 20 }, (_, id) => ({ id, [String(id).padEnd(1_000_000, 'k')]: 'x' }))
    const { rejected, rows, columns } = await taken([...records, { id: 20, a: 1 }])
    expect([rejected.length, rows, columns]).toEqual([20, 1, 2])
    for (const { column, raw } of rejected) expect([column!.length, raw.length]).toEqual([300, 4_000])
  })

  it('is rejected without its text if it is nested too deeply to be serialised', async () => {
    const lists = JSON.parse(`{"id":1,"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`)
    const objects = JSON.parse(`{"id":2,"a":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`)
    const { rejected, rows } = await taken([lists, objects, { id: 3 }])
    expect(rows).toBe(1)
    expect(rejected).toMatchObject([
      { line: 1, column: 'a', reason: 'is nested too deeply to be stored as JSON', raw: '' },
      { line: 2, reason: expect.stringContaining('nested deeper'), raw: '' },
    ])
  })
})
