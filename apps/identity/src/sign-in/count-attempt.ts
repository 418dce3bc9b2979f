import { sql, type Kysely } from 'kysely'
import type { Role, UserStatus } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import type { DB } from '../database.ts'
import { inCrowd } from './micro-batcher.ts'
import { tried, triedColumns, triesCounted, tryCounted, type TryCounted } from './throttle.ts'

/** Whose username it is, as they were when the try was counted. */
export interface Account {
  id: number
  uid: string
  client: string
  roles: Role[]
  status: UserStatus
  sso_auth: boolean
  password_hash: string | null
  disabled: boolean
}

interface Trying {
  skeleton: string
  address: string
}

export type Counted = TryCounted & (Account | Record<keyof Account, null>)

/** Counts a try and finds whose it is, in one statement. */
export type CountTry = (trying: Trying) => Promise<Counted>

/** In a crowd, one statement counts several. */
export function countingTries(db: Kysely<DB>): CountTry {
  const together = inCrowd<Trying, Counted | undefined>({
    patience: 5,
    ask: (all) => (all.length === 1 ? [undefined] : countAll(db, all)),
  })
  return async (trying) => (await together(trying)) ?? countOne(db, trying)
}

const found = (skeleton: ReturnType<typeof sql>) => sql`
  select u.id, u.uid, u.client, u.roles, u.status, u.sso_auth, u.password_hash, c.disabled
  from users u join clients c on c.uid = u.client
  where u.username_skeleton = ${skeleton}`

export async function countOne(db: Kysely<DB>, { skeleton, address }: Trying): Promise<Counted> {
  const { rows } = await sql<Counted>`
    ${prepared('admit-sign-in')}
    with ${tryCounted(skeleton, address)}
    select ${triedColumns}, who.* from ${tried} left join (${found(sql`${skeleton}`)}) as who on true`.execute(db)
  return rows[0]!
}

/** Undefined for whoever was not counted. */
async function countAll(db: Kysely<DB>, all: readonly Trying[]): Promise<(Counted | undefined)[]> {
  const first = new Map(all.toReversed().map((trying) => [trying.skeleton, trying]))
  const { rows } = await sql<Counted & { skeleton: string }>`
    ${prepared('admit-sign-ins')}
    with ${triesCounted([...first.values()], sql`${found(sql`asked.skeleton`)} limit 1`)}
    select who.*, account.seconds as account_wait from who join account on account.key = who.account_key`.execute(db)
  const counted = new Map(rows.map(({ skeleton, ...row }) => [skeleton, row as Counted]))
  return all.map((trying) => (first.get(trying.skeleton) === trying ? counted.get(trying.skeleton) : undefined))
}
