import pg from 'pg'

export interface Filling {
  /** Uid of a client that there is. */
  client: string
  /** How many to add. */
  users: number
}

/**
 * Adds made-up users to clients: 1,000,000 in some two minutes. Names, addresses, states, roles and times are spread as they
 * are among people, and are the same on every run; nobody of them can sign in. Secondary indexes are taken away while the
 * rows go in, and made anew from what they were, in one transaction. Answers how many users there are.
 */
export async function fillUsers(connectionString: string, fillings: readonly Filling[]): Promise<number> {
  const database = new pg.Client({ connectionString, application_name: 'fill-users' })
  await database.connect()
  try {
    await database.query('begin')
    await database.query(`set local maintenance_work_mem = '512MB'; set local synchronous_commit = off`)
    // Each is what makes rows slow to add, and quick to make afterwards.
    const { rows: indexes } = await database.query<{ name: string; made: string }>(`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as made from pg_index
      where indrelid = 'users'::regclass and not indisunique`)
    for (const { name } of indexes) await database.query(`drop index ${name}`)
    await database.query(insertUsers, [fillings.map(({ client }) => client), fillings.map(({ users }) => users)])
    for (const { made } of indexes) await database.query(made)
    await database.query('commit')
    // Also what tells PostgreSQL which rows everybody sees, for scans that need not look at the table.
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
/** A number of user n that looks random, from 0. */
const random = (salt: string) => `(hashint8extended(n, ${salt}) & 1073741823)`

/** Continues the numbers of an earlier filling, because usernames are unique. */
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
