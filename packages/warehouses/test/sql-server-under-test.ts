import { tsqlAccess } from '../src/tsql/tsql-settings.ts'
import { type TsqlUnderTest, tsqlUnderTest } from './tsql-under-test.ts'

const url = process.env['SQLSERVER_TEST_URL']

/** The reason to skip tests that need SQL Server; undefined if one is available. */
export const sqlServerMissing: string | undefined = url
  ? undefined
  : 'runs with the URL of a server’s administrator in SQLSERVER_TEST_URL, as in mssql://sa:password@host:1433?encrypt=true'

export const sqlServer = (): TsqlUnderTest => tsqlUnderTest((credentials) => tsqlAccess(url!, credentials))
