import { expect, it } from '@jest/globals'
import { InvalidSearch, refusedSearch } from '../src/index.ts'

const wrong = new InvalidSearch([
  { pointer: '/paging/after', detail: 'is not a cursor of this list' },
  { pointer: '/filter/0', detail: 'names nothing' },
])
const pointers = (byQuery: boolean) => {
  const { status, errors } = refusedSearch(wrong, byQuery) as { status: number; errors: { pointer: string }[] }
  return [status, ...errors.map(({ pointer }) => pointer)]
}

it('a violation points to the property of the body or to the query parameter', () => {
  expect(pointers(false)).toEqual([400, '/paging/after', '/filter/0'])
  expect(pointers(true)).toEqual([400, '/after', '/filter/0'])
})

it('other errors are returned unchanged', () => {
  const error = new Error('broken')
  expect(refusedSearch(error, true)).toBe(error)
})
