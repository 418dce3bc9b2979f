import { describe, expect, it } from '@jest/globals'
import { replacedColumns } from './ready-to-publish.ts'

describe('replacedColumns, the columns that an increment replaces', () => {
  it('returns the columns that the source has now or had before', () => {
    expect(replacedColumns({ brought: ['id'], fedBefore: ['id', 'name'] })).toEqual(['id', 'name'])
    expect(replacedColumns({ brought: ['id'], fedBefore: [] })).toEqual(['id'])
  })

  it('returns undefined, which means all columns, if the columns of the source are unknown', () => {
    expect(replacedColumns({ fedBefore: ['id'] })).toBeUndefined()
  })
})
