import { describe, expect, it } from '@jest/globals'
import { formatStatement } from '../sql-warehouse/sql-statement.ts'
import { synapseAccess } from './synapse-settings.ts'
import { synapseDialect } from './synapse-dialect.ts'

const credentials = { key: 'abc', loadPassword: 'l', readPassword: 'r' }
const access = synapseAccess('mssql://admin:secret@host/pool', credentials)
const dialect = synapseDialect(access)
const at = { schema: 'health', name: 'cases' }
const text = (statement: Parameters<typeof formatStatement>[0]) => formatStatement(statement, (number) => `@p${number}`)

describe('synapseAccess', () => {
  it('gives each organisation a schema prefix and uses READ UNCOMMITTED, and requires a pool in the URL', () => {
    expect(access).toMatchObject({ database: 'pool', prefix: 'c_abc_', ledger: 'c_abc' })
    expect(Object.values(access.logins).map(({ isolation }) => isolation)).toEqual(Array(3).fill('READ_UNCOMMITTED'))
    expect(() => synapseAccess('mssql://admin:secret@host', credentials)).toThrow('has no pool')
  })
})

describe('statements for a Synapse pool', () => {
  it('create columnstore tables, or heap tables if a column has text of unlimited length', () => {
    const made = (type: string) => text(dialect.changes.createTable(at, [{ name: 'x', type, nullable: true }]))
    expect(made('int')).toBe(
      'create table [c_abc_health].[cases] ([x] int null) with (clustered columnstore index, distribution = round_robin)',
    )
    expect(made('nvarchar(max)')).toMatch(/ null\) with \(heap, distribution = round_robin\)$/)
  })

  it('insert rows from a query, through a temporary table if the query begins with WITH', () => {
    const filling = (query: string) => dialect.changes.insert(at, ['a', 'b]'], query).map(text)
    expect(filling('select 1, 2 order by 1;')).toEqual([
      'insert into [c_abc_health].[cases] ([a], [b]]])\nselect 1, 2 ',
    ])
    expect(filling('with q as (select 1 as n) select n, n from q option (label = 1)')).toEqual([
      'create table [#sluice] with (heap, distribution = round_robin) as\nwith q as (select 1 as n) select [a], [b]]] from (\nselect n, n from q \n) as user_query([a], [b]]]) option (label = 1)',
      'insert into [c_abc_health].[cases] ([a], [b]]]) select [a], [b]]] from [#sluice]',
      'drop table [#sluice]',
    ])
  })

  it('page with row_number instead of OFFSET, and number the rows of a query only if it has an order', () => {
    const rowNumber = `[row_number${'~'.repeat(54)}]`
    expect(dialect.page(at, ['id', 'n'], { limit: 10, offset: 20, order: ['id'] })).toBe(
      `select [id], [n] from (select [id], [n], row_number() over (order by [id]) as ${rowNumber} from [c_abc_health].[cases]) as numbered where ${rowNumber} between 21 and 30 order by ${rowNumber}`,
    )
    expect(dialect.page(at, ['n'], { limit: 1, offset: 0, order: [] })).toContain('over (order by (select null))')
    const columns = [{ name: 'id', type: 'int', dataType: 'INTEGER' as const }]
    expect(dialect.numberRows!('select id from t', columns)).toBeUndefined()
    expect(dialect.numberRows!('select id from t order by n desc, 1', columns)).toBe(
      'select c1, row_number() over (order by o1 desc, c1) as n from (\nselect id , n\nfrom t\n) as user_query(c1, o1) ',
    )
  })
})
