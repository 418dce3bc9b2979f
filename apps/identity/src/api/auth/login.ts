import { sql, type Kysely } from 'kysely'
import type { LoginBody, Role, Tokens, UserStatus } from '@sluice/contracts'
import { Problem } from '@sluice/http'
import type { DB } from '../../database.ts'
import { addRefreshToken } from '../../sign-in/refresh-tokens.ts'
import { openSession } from '../../sign-in/sessions.ts'
import { verifyPassword } from '../../sign-in/password.ts'
import { admitTry, succeeded, takenBack, type Attempt } from '../../sign-in/throttle.ts'
import { skeletonOf } from '../../sign-in/username.ts'
import type { Asked } from '../operation.ts'
import { tokensOf } from './tokens.ts'

interface Account {
  id: number
  uid: string
  client: string
  roles: Role[]
  status: UserStatus
  sso_auth: boolean
  password_hash: string | null
  disabled: boolean
}

/** Signs in with a password. Whatever is wrong, the answer and its time are the same; the audit says what it was. */
export async function login({ username, password }: LoginBody, input: Asked): Promise<Tokens> {
  const { db, write, request } = input
  const attempt = await admitTry(db, username, request.address)
  const account = await accountOf(db, username)
  const right = await verified(password, account, db, attempt)
  const refusal = account ? refusalOf(account, right) : 'unknown username'

  const session = await write(async (trx) => {
    const by = account && { user: account.uid, client: account.client }
    const opened = refusal === undefined && account && (await open(trx, account, input))
    const outcome = opened
      ? { outcome: 'signed in', session: opened.session.uid }
      : { outcome: refusal ?? 'changed meanwhile' }
    request.audit(account?.uid ?? null, outcome, by)
    if (opened) await succeeded(trx, attempt)
    return opened
  })
  if (!session || !account) throw notSignedIn()
  return tokensOf(input, { user: account.uid, client: account.client, ...session })
}

async function accountOf(db: Kysely<DB>, username: string): Promise<Account | undefined> {
  const { rows } = await sql<Account>`
    select u.id, u.uid, u.client, u.roles, u.status, u.sso_auth, u.password_hash, c.disabled
    from users u join clients c on c.uid = u.client
    where u.username_skeleton = ${skeletonOf(username)}`.execute(db)
  return rows[0]
}

/** Too busy to check is no try. */
async function verified(
  password: string,
  account: Account | undefined,
  db: Kysely<DB>,
  attempt: Attempt,
): Promise<boolean> {
  try {
    return await verifyPassword(password, account?.password_hash)
  } catch (error) {
    await takenBack(db, attempt)
    throw error
  }
}

function refusalOf({ status, sso_auth, password_hash, disabled }: Account, right: boolean): string | undefined {
  if (sso_auth) return 'signs in elsewhere'
  if (password_hash === null) return 'no password'
  if (!right) return 'wrong password'
  if (status !== 'ACTIVE') return `status ${status}`
  return disabled ? 'client disabled' : undefined
}

/** Asks once more under a lock, so that a password or status that changed while we checked is not overlooked. */
async function open(trx: Kysely<DB>, { id, password_hash }: Account, { config, request }: Asked) {
  const { rows } = await sql<Account>`
    select u.id, u.uid, u.client, u.roles from users u join clients c on c.uid = u.client
    where u.id = ${id} and u.password_hash = ${password_hash} and u.status = 'ACTIVE' and not c.disabled
    for share of u`.execute(trx)
  const user = rows[0]
  if (!user) return undefined
  const userAgent = (request.stream.headers['user-agent'] ?? '').slice(0, 500)
  const session = await openSession(trx, { user, days: config.SESSION_DAYS, address: request.address, userAgent })
  return { session, refreshToken: await addRefreshToken(trx, session) }
}

const notSignedIn = () =>
  new Problem(401, 'sign-in-failed', 'You are not signed in.', {
    detail: 'The username or the password is not right, or this user may not sign in this way.',
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
