import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { RecordTables } from '../records/record-tables.ts'
import type { SpooledTable } from '../records/table-spool.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-table-spool-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Returns the rows of a table on disk. */
function readRows({ file, size }: SpooledTable): unknown[] {
  if (!file) return []
  // The file is read from its start, although its position is at the start already: it was written at positions.
  const text = readFileSync(file.fd, 'utf8')
  expect(Buffer.byteLength(text)).toBe(size)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown)
}

/** Lengths around the size of the buffer. */
const length = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ max: 300, min: 0 }) },
  fc.integer({ min: 60_000, max: 140_000 }),
)
const record = fc.record({
  text: length,
  items: fc.array(length, { maxLength: 3 }),
  letter: fc.constantFrom('x', 'é', '😀', '"'),
})

describe('the rows of tables on disk', () => {
  it('are those of the records, for any lengths of rows and any moment at which the files are created', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 30 }), fc.nat({ max: 30 }), async (records, opened) => {
        await using tables = new RecordTables(
          { table: 't', key: ['id'], columns: [{ path: 'late', isAlwaysCreated: true }] },
          directory,
          1e12,
        )
        for (const [id, { text, items, letter }] of records.entries()) {
          tables.add({ id, text: letter.repeat(text), items: items.map((item) => ({ item: letter.repeat(item) })) })
          if (id >= opened && tables.needsFiles) await tables.openFiles()
        }
        await tables.openFiles()
        tables.flush()
        const [root, group] = tables.spooledTables
        const expected = records.map(({ text, letter }, id) => ({
          ...(id === 0 && { late: null }),
          id,
          text: letter.repeat(text),
        }))
        expect(readRows(root!)).toEqual(expected)
        const items = records.flatMap(({ items: list, letter }) => list.map((item) => letter.repeat(item)))
        expect(group ? readRows(group).map((row) => (row as { item: string }).item) : []).toEqual(items)
        expect(root!.rowCount).toBe(records.length)
      }),
      { numRuns: drawCount({ short: 50, long: 2_000 }) },
    )
  })
})
