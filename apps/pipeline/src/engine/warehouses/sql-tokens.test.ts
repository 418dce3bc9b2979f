import { expect, it } from '@jest/globals'
import { tokensOf } from './sql-tokens.ts'

it.each([
  ['select 1 -- a\r from b', ['select', '1', 'from', 'b']],
  ['select 1 # a\r from b', ['select', '1', 'from', 'b']],
  ['select 1 -- a\r\n from b -- c', ['select', '1', 'from', 'b']],
  ['select 1 /* a\r */ from b', ['select', '1', 'from', 'b']],
])('a comment ends where any server ends it: %j', (sql, words) => {
  expect(tokensOf(sql).map(({ text }) => text)).toEqual(words)
})
