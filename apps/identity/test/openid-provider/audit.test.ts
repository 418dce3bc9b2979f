import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import * as client from 'openid-client'
import { pino } from 'pino'
import { connect } from '@sluice/database'
import type { DB } from '../../src/database.ts'
import { createAuditTally } from '../../src/openid-provider/audit-event-counter.ts'
import { startService, switchableDatabase, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())

interface Row {
  actor: string | null
  client: string | null
  object: string | null
  details: Record<string, any>
}

/**
 * The audit entries of an operation, oldest first. Waits for at least `minimum` entries, because some are written after
 * the response.
 */
async function auditOf(operation: string, minimum = 1): Promise<Row[]> {
  await service.tally.flush()
  for (; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const { rows } = await sql<Row>`
      select actor, client, object, details from audit where operation = ${operation} order by id`.execute(service.db)
    if (rows.length >= minimum) return rows
  }
}

const post = (path: string, fields: Record<string, string>, id = party.body.ssoClientId, secret = 'wrong-secret') =>
  service.http.post(path).type('form').auth(id, secret).send(fields)

describe('the audit log', () => {
  it('counts repeated client credentials grants of an application in one entry', async () => {
    for (let grant = 0; grant < 5; grant++) await client.clientCredentialsGrant(party.config)
    expect(await auditOf('oidc.clientCredentials')).toEqual([
      {
        actor: party.application.id,
        client: party.organisation,
        object: party.body.ssoClientId,
        details: {
          count: 5,
          from: expect.any(String),
          until: expect.any(String),
          addresses: [expect.any(String)],
        },
      },
    ])
  })

  it('contains the sign-in of a user to an application, with a code and through an existing session', async () => {
    const user = await party.user()
    const { browser } = await party.signIn(user.username)
    expect(await auditOf('oidc.exchangeCode')).toEqual([
      {
        actor: user.uid,
        client: party.organisation,
        object: party.body.ssoClientId,
        details: { session: expect.any(String), scopes: expect.arrayContaining(['openid']) },
      },
    ])
    expect(await auditOf('oidc.silentSignIn', 0)).toEqual([])
    await party.signIn(user.username, {}, browser)
    expect(await auditOf('oidc.silentSignIn')).toMatchObject([
      { actor: user.uid, client: party.organisation, object: party.body.ssoClientId, details: { count: 1 } },
    ])
  })

  it('contains failed authentications of known and unknown applications, without the secret', async () => {
    const grant = { grant_type: 'client_credentials' }
    await post('/oidc/token', grant).expect(401)
    await post('/oidc/token', grant).expect(401)
    await post('/oidc/token/revocation', { token: 'any' }).expect(401)
    await post('/oidc/token', grant, 'nobody-knows').expect(401)
    // An id of one character is too short to be recorded.
    await post('/oidc/token', grant, 'x').expect(401)
    const rows = await auditOf('oidc.authenticateClient')
    const details = expect.objectContaining({ count: 3, outcome: 'invalid_client' })
    expect(rows).toContainEqual({ actor: null, client: party.organisation, object: party.body.ssoClientId, details })
    expect(rows).toContainEqual(expect.objectContaining({ actor: null, client: null, object: 'nobody-knows' }))
    expect(rows).toContainEqual(expect.objectContaining({ actor: null, client: null, object: null }))
    expect(JSON.stringify(rows)).not.toContain('wrong-secret')
  })

  it('contains reused codes, reused refresh tokens and revoked tokens, with their user', async () => {
    const user = await party.user()
    const { url, finish, verifier } = await party.begin()
    const browser = party.browser()
    let page = await browser.submit(await browser.open(url), {
      username: user.username,
      password: 'heron-sifts-41-pebbles',
    })
    page = await browser.submit(page, { decision: 'allow' })
    const { refresh_token } = await finish(page)
    const again = {
      grant_type: 'authorization_code',
      code: page.url.searchParams.get('code')!,
      code_verifier: verifier,
      redirect_uri: party.body.redirectUris[0]!,
    }
    await post('/oidc/token', again, party.body.ssoClientId, party.body.clientSecret!).expect(400)
    expect(refresh_token).toBeDefined()
    expect(await auditOf('oidc.reuse')).toMatchObject([
      { actor: user.uid, object: party.body.ssoClientId, details: { grantType: 'authorization_code' } },
    ])

    const second = await party.signIn((await party.user()).username)
    await client.refreshTokenGrant(party.config, second.tokens.refresh_token!)
    await sql`update oidc_models set consumed_at = now() - interval '1 minute' where consumed_at is not null`.execute(
      service.db,
    )
    await client.refreshTokenGrant(party.config, second.tokens.refresh_token!).catch(() => {})
    expect(await auditOf('oidc.reuse', 2)).toMatchObject([
      {},
      { actor: expect.any(String), details: { grantType: 'refresh_token' } },
    ])

    const third = await party.user()
    const { tokens } = await party.signIn(third.username)
    await client.tokenRevocation(party.config, tokens.refresh_token!)
    expect(await auditOf('oidc.revoke')).toMatchObject([
      { actor: third.uid, client: party.organisation, details: { kind: 'RefreshToken' } },
    ])
  })

  it('contains the session that ended because a second sign-in continued another session', async () => {
    const user = await party.user()
    const { browser } = await party.signIn(user.username)
    await party.signIn(user.username, { prompt: 'login' }, browser)
    expect(await auditOf('oidc.endSession')).toMatchObject([
      { actor: user.uid, client: party.organisation, details: { outcome: 'an open session goes on' } },
    ])
  })
})

describe('the event counter of the audit log', () => {
  it('limits its entries, and keeps the counts while the database is down', async () => {
    const lines: string[] = []
    const logger = pino({}, { write: (line: string) => void lines.push(line) })
    const down = connect<DB>('postgres://nobody@127.0.0.1:1/none', { name: 'down' })
    let db = down.db
    const tally = createAuditTally(
      switchableDatabase(() => db),
      logger,
    )
    for (let index = 0; index < 3_000; index++)
      tally.count({
        operation: 'oidc.flood',
        application: `stranger-${index}`,
        proven: false,
        address: `192.0.2.${index}`,
      })
    await tally.flush()
    expect(lines.join('\n')).toContain('could not be written')
    db = service.db
    await tally.flush()
    await tally.flush()
    const rows = await auditOf('oidc.flood')
    expect(rows.length).toBeLessThanOrEqual(1_001)
    expect(rows.reduce((sum, { details }) => sum + details['count'], 0)).toBe(3_000)
    expect(Math.max(...rows.map(({ details }) => details['addresses'].length))).toBe(10)
    await down.db.destroy()
  })
})
