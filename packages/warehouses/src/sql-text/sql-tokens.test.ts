import { describe, expect, it } from '@jest/globals'
import { assertPlainComments, tokensOf } from './sql-tokens.ts'

it.each([
  ['select 1 -- a\r from b', ['select', '1', 'from', 'b']],
  ['select 1 # a\r from b', ['select', '1', 'from', 'b']],
  ['select 1 -- a\r\n from b -- c', ['select', '1', 'from', 'b']],
  ['select 1 /* a\r */ from b', ['select', '1', 'from', 'b']],
])('tokensOf ends a comment at a carriage return, a line feed or */: %j', (sql, words) => {
  expect(tokensOf(sql).map(({ text }) => text)).toEqual(words)
})

const refused = expect.objectContaining({ code: 'SQL_NOT_ALLOWED' })

describe('assertPlainComments', () => {
  it('accepts comments that end with a line feed, and carriage returns outside comments', () => {
    for (const sql of ['select 1 -- one\r\n, 2', 'select 1 -- one\n, 2 # two', 'select 1,\r2\r, 3 -- three\n'])
      expect(() => assertPlainComments(sql)).not.toThrow()
  })

  it('rejects a carriage return without a line feed inside or after a comment', () => {
    for (const sql of ['select 1 --\r, 2', 'select 1 # one\r, 2\n', 'select 1 --\r\r\n', 'a\n-- b\rc\r\n'])
      expect(() => assertPlainComments(sql)).toThrow(refused)
  })

  it('accepts or rejects a comment of two million dashes in linear time', () => {
    const dashes = '-'.repeat(2_000_000)
    expect(() => assertPlainComments(`select 1 ${dashes}\r\n${'\r'.repeat(100_000)}`)).not.toThrow()
    expect(() => assertPlainComments(`select 1 ${dashes}\r`)).toThrow(refused)
  })
})
