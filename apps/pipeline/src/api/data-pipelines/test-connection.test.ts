import { expect, it } from '@jest/globals'
import { formatSystemName } from './test-connection.ts'

it('names the database system of a source type', () => {
  expect(formatSystemName('SQL_DATABASE_B')).toBe('MySQL or MariaDB')
  expect(formatSystemName('SQL_DATABASE_D')).toBe('PostgreSQL')
})
