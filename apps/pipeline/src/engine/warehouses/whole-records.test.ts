import { describe, expect, it } from '@jest/globals'
import { broughtColumns, fedSoFar } from './whole-records.ts'

const fed = (...names: string[]) => ({
  columns: names.map((name) => ({ name, label: name, dataType: 'TEXT' as const })),
})

describe('the columns that an increment replaces', () => {
  it('are those that the source brings now or brought before, and not those that only a transformation fills', () => {
    const staged = ['id', 'name', 'made']
    expect(broughtColumns({ transformed: false, target: fed('id') }, staged, ['id', 'name'])).toEqual(['id', 'name'])
    expect(broughtColumns({ transformed: false, target: fed('id') }, staged, [])).toEqual(['id'])
  })

  it('are all columns where a transformation has seen the rows', () => {
    expect(broughtColumns({ transformed: true, target: fed('id') }, ['id', 'made'], [])).toEqual(['id', 'made'])
  })

  it('are remembered until the table is replaced', () => {
    expect(fedSoFar(fed('id', 'name'), ['id', 'gone'])).toEqual(['id', 'name', 'gone'])
  })
})
