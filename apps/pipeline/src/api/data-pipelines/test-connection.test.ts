import { expect, it } from '@jest/globals'
import { formatSystemName } from './test-connection.ts'

it('speaks of the one system that was asked', () => {
  expect(formatSystemName('SQL_DATABASE_B')).toBe('MySQL or MariaDB')
  expect(formatSystemName('SQL_DATABASE_D')).toBe('PostgreSQL')
})
