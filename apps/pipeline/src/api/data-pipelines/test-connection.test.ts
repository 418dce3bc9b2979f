import { expect, it } from '@jest/globals'
import { whoAnswers } from './test-connection.ts'

it('speaks of the one system that was asked', () => {
  expect(whoAnswers('SQL_DATABASE_B')).toBe('MySQL or MariaDB')
  expect(whoAnswers('SQL_DATABASE_D')).toBe('PostgreSQL')
})
