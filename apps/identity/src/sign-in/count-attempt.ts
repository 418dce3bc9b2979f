import { sql, type Kysely } from 'kysely'
import type { Role, UserStatus } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import type { DB } from '../database.ts'
import { batchUnderLoad } from './micro-batcher.ts'
import { countedRows, countedColumns, countAttemptsSql, countAttemptSql, type AttemptCount } from './throttle.ts'

/** The account of the username when the attempt was counted. */
export interface SignInAccount {
  id: number
  uid: string
  client: string
  roles: Role[]
  status: UserStatus
  sso_auth: boolean
  password_hash: string | null
  disabled: boolean
}

interface SignInAttempt {
  skeleton: string
  address: string
}

export type CountedAttempt = AttemptCount & (SignInAccount | Record<keyof SignInAccount, null>)

/** Counts an attempt and finds the account in one statement. */
export type CountAttempt = (trying: SignInAttempt) => Promise<CountedAttempt>

/** Under load, one statement counts several attempts. */
export function attemptCounter(db: Kysely<DB>): CountAttempt {
  const together = batchUnderLoad<SignInAttempt, CountedAttempt | undefined>({
    patience: 5,
    ask: (all) => (all.length === 1 ? [undefined] : countAttempts(db, all)),
  })
  return async (trying) => (await together(trying)) ?? countAttempt(db, trying)
}

const found = (skeleton: ReturnType<typeof sql>) => sql`
  select u.id, u.uid, u.client, u.roles, u.status, u.sso_auth, u.password_hash, c.disabled
  from users u join clients c on c.uid = u.client
  where u.username_skeleton = ${skeleton}`

export async function countAttempt(db: Kysely<DB>, { skeleton, address }: SignInAttempt): Promise<CountedAttempt> {
  const { rows } = await sql<CountedAttempt>`
    ${prepared('admit-sign-in')}
    with ${countAttemptSql(skeleton, address)}
    select ${countedColumns}, who.* from ${countedRows} left join (${found(sql`${skeleton}`)}) as who on true`.execute(
    db,
  )
  return rows[0]!
}

/** Returns undefined for attempts that were not counted. */
async function countAttempts(db: Kysely<DB>, all: readonly SignInAttempt[]): Promise<(CountedAttempt | undefined)[]> {
  const first = new Map(all.toReversed().map((trying) => [trying.skeleton, trying]))
  const { rows } = await sql<CountedAttempt & { skeleton: string }>`
    ${prepared('admit-sign-ins')}
    with ${countAttemptsSql([...first.values()], sql`${found(sql`asked.skeleton`)} limit 1`)}
    select who.*, account.seconds as account_wait from who join account on account.key = who.account_key`.execute(db)
  const counted = new Map(rows.map(({ skeleton, ...row }) => [skeleton, row as CountedAttempt]))
  return all.map((trying) => (first.get(trying.skeleton) === trying ? counted.get(trying.skeleton) : undefined))
}
