import { expect, it } from '@jest/globals'
import type { LoadedTable } from '@sluice/warehouses/load-row-streams'
import { describeHints, describeLoad, describeDryRun } from './load-message-texts.ts'

const tableWith = (changes: number): LoadedTable => ({
  schema: 'health',
  table: 'cases',
  rows: 1,
  bytes: 1,
  changes: Array.from({ length: changes }, (_, at) => ({ kind: 'COLUMN_DROPPED', column: `c${at}` })),
})

it.each([
  [4, 'The log names 1 more change of columns.'],
  [5, 'The log names 2 more changes of columns.'],
])('counts the remaining of %d column changes in the singular or plural', (changes, sentence) => {
  expect(describeLoad([tableWith(changes)], { rejected: 0 })).toMatch(new RegExp(`\\. ${sentence}$`))
})

it('counts a single hint and a single table in the singular', () => {
  const hints = new Map(['a.', 'b.', 'c.', 'd.'].map((sentence) => [sentence, { pipeline: '' }]))
  expect(describeHints(hints, { isDataset: false })).toBe('a. b. c. The log has 1 more hint.')
  const planned = Array.from({ length: 6 }, () => ({ ...tableWith(0), rowsBefore: 1, rowsAfter: 1 }))
  expect(describeDryRun(planned, 0)).toMatch(/ And 1 more table\.$/)
})
