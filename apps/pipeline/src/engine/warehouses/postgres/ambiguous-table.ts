import type { Client } from 'pg'
import type { AmbiguousTable, UserQuery } from '../warehouse.ts'
import type { WarehouseAccess } from './access.ts'
import { notUnderstood, planning } from './planning.ts'

/** Planning is quick, or the query itself will say what keeps it. */
const seconds = 10

/** The tables and views that the plan before has locked and that others of these schemas have a namesake of. */
const namesakes = `
  select c.oid::int8::float8 as oid, c.relname::text as name, found.schemas
  from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select array_agg(of.nspname::text order by of.nspname::text collate "C") as schemas
    from pg_class o join pg_namespace of on of.oid = o.relnamespace
    where o.relname = c.relname and of.nspname = any ($1::text[]) and o.relkind in ('r', 'p', 'v', 'm', 'f')) found
  where l.pid = pg_backend_pid() and l.locktype = 'relation' and n.nspname = any ($1::text[])
    and l.database = (select oid from pg_database where datname = current_database())
    and cardinality(found.schemas) > 1
  order by c.relname collate "C"`

interface Namesake extends AmbiguousTable {
  oid: number
}

/**
 * See `Warehouse.ambiguousTable`. The query is planned with the schemas in their order and in the reverse: what is another table
 * then has no schema before its name. So the server itself says how it reads the query.
 */
export function ambiguousTable(
  access: WarehouseAccess,
  query: UserQuery,
  preferred: number,
  signal: AbortSignal,
): Promise<AmbiguousTable | undefined> {
  const schemas = query.schemas ?? []
  const [first, others] = [schemas.slice(0, preferred), schemas.slice(preferred)]
  if (others.length < 2) return Promise.resolve(undefined)
  return planning(access, query, { seconds, signal }, async (client, plan) => {
    const planned = (order: readonly string[]) =>
      plan(order).then(
        () => namesakesOf(client, others),
        (error: unknown) => {
          // The one of them may have columns that the other has not.
          if (notUnderstood(error)) return undefined
          throw error
        },
      )
    const read = await planned(schemas)
    if (read?.length === 0) return undefined
    const turned = await planned([...first, ...others.toReversed()])
    const either = read ?? turned
    if (!either) return undefined
    const found =
      read && turned
        ? (missing(read, turned) ?? missing(turned, read))
        : (either.find(({ name }) => standsAlone(query.text, name)) ?? either[0])
    return found && { name: found.name, schemas: found.schemas }
  })
}

/** What only the first of the two has. */
const missing = (some: readonly Namesake[], others: readonly Namesake[]): Namesake | undefined =>
  some.find(({ oid }) => others.every((other) => other.oid !== oid))

const namesakesOf = async (client: Client, schemas: readonly string[]): Promise<Namesake[]> =>
  (await client.query<Namesake>(namesakes, [schemas])).rows

/** Whether the name is somewhere without a schema before it. */
const standsAlone = (text: string, name: string): boolean =>
  new RegExp(String.raw`(?<![\w$.]|\."|\w")"?${RegExp.escape(name)}"?(?![\w$"])`, 'iu').test(text)
