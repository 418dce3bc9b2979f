import { describe, expect, it } from '@jest/globals'
import { splitOrderedQuery } from './split-ordered-query.ts'

const columns = [{ name: 'id' }, { name: 'Total sum' }]
const around = (text: string) => {
  const { withClause, tableExpression, orderBy, optionClause } = splitOrderedQuery(text, columns)
  return `${withClause}select * from ${tableExpression} order by ${orderBy} ${optionClause}`
    .replaceAll(/\s+/g, ' ')
    .trim()
}

describe('splitOrderedQuery, which moves ORDER BY to an outer query', () => {
  it.each([
    ['select id, n from t order by ID desc', 'select id, n from t', 'c1, c2', 'c1 desc'],
    ['select id, n from t order by 2 asc, [total SUM] desc', 'select id, n from t', 'c1, c2', 'c2, c2 desc'],
    [
      `select id, n from t order by t.id, iif(n = 'a, b', 1, 2) + 'x' desc`,
      `select id, n , t.id , iif(n = 'a, b', 1, 2) + 'x' from t`,
      'c1, c2, o1, o2',
      'o1, o2 desc',
    ],
    ['select top (5) id, n from t order by n', 'select top (5) id, n , n from t order by n', 'c1, c2, o1', 'o1'],
    [
      'select id, (select max(x) from u) from t order by count(*) offset 5 rows',
      'select id, (select max(x) from u) , count(*) from t order by count(*) offset 5 rows',
      'c1, c2, o1',
      'o1',
    ],
    ['select 1 union select 2 order by 1', 'select 1 union select 2', 'c1, c2', 'c1'],
  ])('%s', (text, inside, names, by) => {
    expect(around(text)).toBe(`select * from ( ${inside} ) as user_query(${names}) order by ${by}`)
  })

  it('keeps WITH before the outer query and OPTION after it', () => {
    expect(around('with q as (select 1 as id order by 1) select id, 2 from q order by id option (recompile)')).toBe(
      'with q as (select 1 as id order by 1) select * from ( select id, 2 from q ) as user_query(c1, c2) order by c1 option (recompile)',
    )
  })

  it('returns an empty order for a query without ORDER BY', () => {
    expect(splitOrderedQuery('select row_number() over (order by n) from t', columns)).toMatchObject({
      orderBy: '',
    })
  })
})
