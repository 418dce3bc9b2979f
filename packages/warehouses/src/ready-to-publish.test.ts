import { describe, expect, it } from '@jest/globals'
import { replacedColumns } from './ready-to-publish.ts'

describe('the columns that an increment replaces', () => {
  it('are those that the source feeds now or fed before, and not those that only a transformation filled', () => {
    expect(replacedColumns({ brought: ['id'], fedBefore: ['id', 'name'] })).toEqual(['id', 'name'])
    expect(replacedColumns({ brought: ['id'], fedBefore: [] })).toEqual(['id'])
  })

  it('are all columns where it is not known which of them were filled', () => {
    expect(replacedColumns({ fedBefore: ['id'] })).toBeUndefined()
  })
})
