import { describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import { buildDeletedCondition, replacedColumns } from './staged-load-checks.ts'

describe('replacedColumns, the columns that an increment replaces', () => {
  it('returns the columns that the source has now or had before', () => {
    expect(replacedColumns({ filledColumns: ['id'], previouslySupplied: ['id', 'name'] })).toEqual(['id', 'name'])
    expect(replacedColumns({ filledColumns: ['id'], previouslySupplied: [] })).toEqual(['id'])
  })

  it('returns undefined, which means all columns, if the columns of the source are unknown', () => {
    expect(replacedColumns({ previouslySupplied: ['id'] })).toBeUndefined()
  })
})

describe('the condition of deleted rows', () => {
  const condition = (type: string, dataType: DataType, column = 'gone') =>
    buildDeletedCondition({ column, columns: [{ name: 'gone', type, dataType }], expression: (name) => `[${name}]` })

  it.each<[string, DataType, string]>([
    ['bit', 'BOOLEAN', '([gone] is not null and [gone] = cast(1 as bit))'],
    ['Int16', 'SMALLINT', '([gone] is not null and [gone] <> 0)'],
    ['numeric(3,1)', 'DECIMAL', '([gone] is not null and [gone] <> 0)'],
    ['date', 'DATE', '[gone] is not null'],
    ['datetime2', 'TIMESTAMP', '[gone] is not null'],
    ['datetimeoffset(6)', 'TIMESTAMPTZ', '[gone] is not null'],
  ])('of type %s is never null', (type, dataType, expected) => {
    expect(condition(type, dataType)).toBe(expected)
  })

  it('fails for a text and for a column that a transformation dropped, and is absent without a column', () => {
    const problem = (message: string) => expect.objectContaining({ code: 'DELETED_COLUMN_UNUSABLE', message })
    expect(() => condition('text', 'TEXT')).toThrow(
      problem(
        'The column "gone", which marks deleted rows, is text in the warehouse. To give it the type of the source, run once with "rebuild": true, which replaces all rows of the table.',
      ),
    )
    expect(() => condition('bit', 'BOOLEAN', 'other')).toThrow(
      problem(
        'The column "other", which marks deleted rows, is missing in the rows to load. Keep it in the transformation.',
      ),
    )
    expect(buildDeletedCondition({ column: undefined, columns: [], expression: () => '' })).toBeUndefined()
  })
})
