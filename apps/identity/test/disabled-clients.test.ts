import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { transaction } from '@sluice/database'
import { fillUsers } from '../../../bench/identity/fill-users.ts'
import { addApiToken } from '../src/sign-in/tokens/api-tokens.ts'
import { addLink } from '../src/sign-in/tokens/one-time-links.ts'
import { issueTicket } from '../src/sign-in/second-factor/tickets.ts'
import { startService, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const users = 20_000

async function enable(client: string, enabled: boolean) {
  const { body } = await admin.get(`/clients/${client}`).expect(200)
  await admin
    .put(`/clients/${client}`)
    .send({ ...body, disabled: !enabled })
    .expect(200)
}

const keyOf = async (uid: string) =>
  (await sql<{ id: number; email: string }>`select id, email from users where uid = ${uid}`.execute(service.db))
    .rows[0]!
const linkTo = async (uid: string, purpose: 'INVITATION' | 'PASSWORD_RESET') => {
  const { url } = await addLink(service.db, await keyOf(uid), purpose, service.config)
  return new URL(url).searchParams.get('token')
}
const currentTransaction = async () =>
  (await sql<{ id: number }>`select pg_current_xact_id()::text::bigint as id`.execute(service.db)).rows[0]!.id
const usersWrittenSince = async (transactionId: number, client: string) =>
  (
    await sql<{ uid: string }>`
      select uid from users where client = ${client} and xmin::text::bigint > ${transactionId}`.execute(service.db)
  ).rows.map(({ uid }) => uid)
const unusedTickets = async (ticket: string) =>
  (
    await sql`select from second_factor_tickets where ticket_hash = ${createHash('sha256').update(ticket).digest()}`.execute(
      service.db,
    )
  ).rows.length

it('disabling and enabling an organisation with 20,000 signed-in users ends all sessions and writes no user row', async () => {
  const client = await service.client()
  await fillUsers(service.config.IDENTITY_DATABASE_URL, [{ client, users }])
  await transaction(service.db, async (trx) => {
    // On a busy machine, this statement may exceed the statement timeout of the service.
    await sql`set local statement_timeout = 0`.execute(trx)
    await sql`
      insert into sessions (user_id, client, expires_at, roles_at_issue, address, address_prefix, user_agent)
      select id, client, now() + interval '30 days', roles, '192.0.2.1', '192.0.2.0/24', '' from users, generate_series(1, 2)
      where client = ${client}`.execute(trx)
  })
  const readTallies = async () =>
    (await sql`select sum(changes) as changes from user_tallies where client = ${client}`.execute(service.db)).rows
  const before = await currentTransaction()
  const tallies = await readTallies()

  await enable(client, false)
  const open = await sql`select from sessions where client = ${client} and ended_at is null`.execute(service.db)
  expect(open.rows).toHaveLength(0)
  await enable(client, true)
  expect(await readTallies()).toEqual(tallies)
  expect(await usersWrittenSince(before, client)).toEqual([])
})

it('deactivating a user of a large organisation does not write its other users or their sessions', async () => {
  const { rows } = await sql<{ uid: string; client: string }>`
    select uid, client from users where status = 'ACTIVE' and username_skeleton like 'filled%' limit 1`.execute(
    service.db,
  )
  const { uid, client } = rows[0]!
  await transaction(service.db, async (trx) => {
    await sql`set local statement_timeout = 0`.execute(trx)
    await sql`update sessions set ended_at = null, end_reason = null where client = ${client}`.execute(trx)
  })
  const before = await currentTransaction()
  await admin.put(`/users/${uid}/status`).send({ status: 'INACTIVE' }).expect(200)
  expect(await usersWrittenSince(before, client)).toEqual([uid])
  const sessions = await sql`
    select distinct u.uid from sessions s join users u on u.id = s.user_id
    where s.client = ${client} and s.xmin::text::bigint > ${before}`.execute(service.db)
  expect(sessions.rows).toEqual([{ uid }])
})

it('an enabled organisation gets its API tokens and invitations back, but not its sessions and logins', async () => {
  const person = await service.as([])
  const invited = await service.user({ client: person.client, status: 'INVITATION' })
  const { id } = await keyOf(person.uid)
  const elsewhere = await service.signIn(person.username)
  await sql`update sessions set client = ${admin.client} where uid = (select uid from sessions where user_id = ${id} order by id desc limit 1)`.execute(
    service.db,
  )
  const reset = await linkTo(person.uid, 'PASSWORD_RESET')
  const invitation = await linkTo(invited.uid, 'INVITATION')
  const ticket = await issueTicket(service.db, id)
  const created = await transaction(service.db, (trx) =>
    addApiToken(trx, id, { name: 'nightly', roles: [], expires: new Date(Date.now() + 3_600_000) }),
  )
  if (created === 'too many tokens') throw new Error(created)
  const script = service.withToken(created.token)
  await script.get('/users/me').expect(200)

  await enable(person.client, false)
  const during = await linkTo(person.uid, 'PASSWORD_RESET')
  // Simulates a process that was killed after it disabled the client and before it ended the sessions.
  await sql`update sessions set ended_at = null, end_reason = null where user_id = ${id}`.execute(service.db)
  await person.get('/users/me').expect(401)
  await script.get('/users/me').expect(401)
  await enable(person.client, true)

  for (const tokens of [person.tokens, elsewhere]) {
    await service.withToken(tokens.accessToken).get('/users/me').expect(401)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: tokens.refreshToken }).expect(401)
  }
  const password = randomBytes(12).toString('hex')
  for (const token of [reset, during])
    await service.http.post('/api/v1/auth/reset-password').send({ token, password }).expect(422)
  expect(await unusedTickets(ticket)).toBe(0)
  await script.get('/users/me').expect(200)
  await service.http.post('/api/v1/auth/accept-invitation').send({ token: invitation, password }).expect(204)
  await service.signIn(person.username)
})
