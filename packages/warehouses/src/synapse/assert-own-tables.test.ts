import { describe, expect, it } from '@jest/globals'
import { assertOwnNames } from './assert-own-tables.ts'

const own = '[c_abc_health].[cases]'
const refused = expect.objectContaining({ code: 'SQL_NOT_ALLOWED' })

describe('assertOwnNames, for the query of a view in a shared pool', () => {
  it.each([
    `select a.id, b.name from ${own} a join ${own} b on a.id = b.id, ${own} as c where a.id = 1`,
    `with q as (select id from ${own}) select q.id, count(q.id) from q group by q.id, q.name order by q.id, q.name`,
    `select trim('x' from a.name) as n, a.* from (${own} as a cross join ${own} as b)`,
    `select v.n, 1.5 as x, .5 as y from ${own} a cross apply (values (a.x), (a.y), (a.z)) as v(n)`,
    `select * from (select a.x, a.y from ${own} a union all select b.x, b.y from ${own} b) as c, ${own}`,
    `select (select max(b.x) from ${own} b where b.id = a.id) as m from ${own} as [c_xyz.t] /* c_xyz.t */ -- from c_xyz.t`,
    `select 'from c_xyz.t' as [from c_xyz.t], [c_abc_health].shown(a.x) as s from ${own} a`,
    'select 1 as n',
  ])('accepts %s', (query) => {
    expect(() => assertOwnNames(query, 'c_abc_')).not.toThrow()
  })

  it.each([
    'select * from c_xyz_health.t',
    'select * from [C_XYZ_health] . /* */ "t"',
    'select * from c_abcd_health.t',
    'select * from [c_abc].[runs]',
    'select * from sys.objects',
    'select * from pool.c_abc_health.t',
    'select * from pool..t',
    'select * from .t',
    `select * from ${own}, c_xyz.t`,
    `select * from ${own} a with (nolock), c_xyz.t`,
    `select * from ${own} a join ${own} b on a.id = b.id, c_xyz.t`,
    `select * from ${own} as c_xyz join c_xyz.t on 1 = 1`,
    `select * from ${own} for system_time all, c_xyz.t`,
    `select * from ${own} a join ${own} b on string_agg(a.x, b.y) within group (order by a.x) = '', c_xyz.t`,
    `select * from (c_xyz.t as a join ${own} as b on 1 = 1)`,
    `select * from ((${own} as b cross join c_xyz.t as a))`,
    'select * from {oj c_xyz.t a left outer join c_xyz.u b on 1 = 1}',
    `select id from ${own} where exists (select 1 from c_xyz.t)`,
    `select c_xyz.f(a.id) as n from ${own} a`,
    `select * from ${own} a cross apply c_xyz.f(a.id)`,
    'with q as (select * from c_xyz.t) select * from q',
    `select 1 as n union all select n from c_xyz.t`,
    'select * from\u0001c_xyz.t',
    'select * from c_xyz\u0001.t',
    'select * from c_xyz.\u200bt',
  ])('rejects %j', (query) => {
    expect(() => assertOwnNames(query, 'c_abc_')).toThrow(refused)
  })
})
