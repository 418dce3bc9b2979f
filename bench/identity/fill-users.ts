import pg from 'pg'

export interface UsersToAdd {
  /** Uid of an existing client. */
  client: string
  users: number
}

/**
 * Adds generated users to clients, 1,000,000 in about two minutes, and returns the number of all users. Names,
 * addresses, states, roles and times have a realistic distribution and are the same in every run. The users cannot sign
 * in. One transaction drops the secondary indexes, inserts the rows and creates the indexes again.
 */
export async function fillUsers(connectionString: string, additions: readonly UsersToAdd[]): Promise<number> {
  const database = new pg.Client({ connectionString, application_name: 'fill-users' })
  await database.connect()
  try {
    await database.query('begin')
    await database.query(`set local maintenance_work_mem = '512MB'; set local synchronous_commit = off`)
    // Creating an index after the insert is much faster than updating it for each row.
    const { rows: indexes } = await database.query<{ name: string; made: string }>(`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as made from pg_index
      where indrelid = 'users'::regclass and not indisunique`)
    for (const { name } of indexes) await database.query(`drop index ${name}`)
    await database.query(insertUsers, [additions.map(({ client }) => client), additions.map(({ users }) => users)])
    for (const { made } of indexes) await database.query(made)
    await database.query('commit')
    // VACUUM also sets the visibility map, which index-only scans need.
    await database.query('vacuum (analyze) users')
    const { rows } = await database.query<{ users: string }>('select count(*) as users from users')
    return Number(rows[0]!.users)
  } finally {
    await database.end()
  }
}

const first =
  `Amina Bruno Chiara Daan Elif Farid Grace Hana Ivan Jonas Kwame Léa Mateo Ngozi Olga Pedro Quynh Rosa Sanjay
  Tomasz Uma Viktor Wanjiru Xin Yusuf Zoë Anders Beatriz Carlos Dewi`.split(/\s+/)
const syllables =
  `ba bel cho da den er fa gar ha in ja kov la man mo na nen or pe qui ra sen so ta ti u van wa xi ye zan
  ski son berg dal hof lin mar nor ost`.split(/\s+/)

const array = (items: readonly string[]) => `(array['${items.join("','")}'])`
const pick = (items: readonly string[], by: string) => `${array(items)}[1 + abs(${by}) % ${items.length}]`
/** SQL of a pseudo-random integer for user n, from 0. */
const random = (salt: string) => `(hashint8extended(n, ${salt}) & 1073741823)`

/** Continues the numbers of earlier calls, because usernames are unique. */
const insertUsers = `
  insert into users (client, name, username, username_skeleton, email, sso_auth, sso_id, roles, status, start_page,
    analytics_platform_enabled, created_at, updated_at)
  select client, first || ' ' || initcap(last), lower(first || '.' || last) || n, 'filled ' || n,
    lower(first || '.' || last) || n || '@' || ${pick(['example.org', 'example.com', 'health.example', 'mail.example'], random('4'))},
    dice < 200, case when dice < 200 then 'sso-' || n end,
    case when dice < 50 then '{ROLE_MANAGE_USER,ROLE_MANAGE_USER_GROUP}'
      when dice < 300 then '{ROLE_SEE_DATA_PIPELINE,ROLE_MANAGE_DATA_PIPELINE,ROLE_SEE_VIEW}'
      else '{ROLE_SEE_VIEW}' end::text[],
    case when state < 20 then 'INVITATION' when state < 60 then 'INACTIVE' else 'ACTIVE' end,
    case when dice < 100 then 'MANAGER' when dice < 400 then 'DATA_PIPELINE' else 'DEFAULT' end,
    dice % 3 = 0, made, made + ${random('7')} % 100 * interval '1 hour'
  from (
    select client, n, ${pick(first, random('1'))} as first,
      ${[21, 22, 23].map((salt) => pick(syllables, random(String(salt)))).join(' || ')} as last,
      ${random('3')} % 1000 as dice, ${random('5')} % 1000 as state,
      timestamptz '2023-01-01Z' + ${random('6')} % 94608000 * interval '1 second' as made
    from (
      select client, row_number() over () + (
        select coalesce(max(substr(username_skeleton, 8)::bigint), 0) from users where username_skeleton like 'filled %') as n
      from unnest($1::uuid[], $2::bigint[]) as filling(client, users), generate_series(1, users)
    ) as numbered
  ) as people`
