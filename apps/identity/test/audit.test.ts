import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { identityOperations, secretName, type OperationSignature } from '@sluice/contracts'
import type { Service } from './app-under-test.ts'
import { startServiceBesideProviders } from './federated/federated-sign-in-setup.ts'
import { validRequests, type ValidRequests } from './valid-requests/valid-requests.ts'

const writes = Object.values(identityOperations)
  .flatMap((noun): OperationSignature[] => Object.values(noun))
  .filter(({ effect }) => effect === 'write')
  .map((signature): [string, OperationSignature] => [signature.id, signature])

let service: Service
let good: ValidRequests
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startServiceBesideProviders()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
  good = validRequests({ service, admin })
})
afterAll(() => service.stop())

interface Row {
  operation: string
  actor: string | null
  actor_name: string | null
  client: string | null
  address: string
  details: Record<string, unknown>
}

async function rowsOf(requestId: string): Promise<Row[]> {
  const { rows } = await sql<Row>`select * from audit where request_id = ${requestId}`.execute(service.db)
  return rows
}

/** Properties with a secret's name whose value is a string or number. A boolean only says whether a secret is set. */
const leaks = (value: unknown): string[] =>
  value === null || typeof value !== 'object'
    ? []
    : Object.entries(value).flatMap(([name, part]) => {
        const isValue = typeof part === 'number' || (typeof part === 'string' && part !== '[redacted]')
        return secretName.test(name) && isValue ? [name] : leaks(part)
      })

const address = '203.0.113.9'

describe.each(writes)('%s', (id, signature) => {
  it('writes an audit entry with user, address and request id, and without secrets', async () => {
    const { uid = '', params = {}, query = '', body, by } = await good[id]!()
    const path = signature.path.replaceAll(/:(\w+)/g, (_all, name: string) => (name === 'uid' ? uid : params[name]!))
    // A session writes at most one audit entry per hour for its refreshes (docs/decisions/0020-audit-and-reports.md).
    // This session is new.
    if (id === 'auth.refresh')
      await sql`update sessions set last_used_at = now() - interval '1 hour'`.execute(service.db)
    const caller = by ?? (await service.as(['ROLE_SUPER_ADMIN'], admin.client))
    const answer = await caller[signature.method](`${path}${query}`).set('x-forwarded-for', address).send(body)
    expect([answer.status, answer.body.detail]).toEqual([signature.status, undefined])

    const rows = await rowsOf(answer.headers['x-request-id']!)
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows) {
      expect(row).toMatchObject({ operation: id, address })
      expect(leaks(row.details)).toEqual([])
      if (row.actor) expect([row.actor_name, row.client]).toEqual([expect.any(String), expect.any(String)])
    }
    if (!['anyone', 'service'].includes(signature.guard as string)) expect(rows[0]!.actor).not.toBeNull()
    if (/\.(update|setStatus)/.test(id))
      expect(rows[0]!.details).toMatchObject({ before: expect.anything(), after: expect.anything() })
  })
})

describe('the audit log', () => {
  it('contains a refused sign-in with its reason, and no entry for a refused write', async () => {
    const person = await service.user({ client: admin.client, status: 'INACTIVE' })
    const refused = await service.http
      .post('/api/v1/auth/login')
      .send({ username: person.username, password: 'not-the-password' })
      .expect(401)
    expect(await rowsOf(refused.headers['x-request-id']!)).toMatchObject([
      { operation: 'auth.login', actor: person.uid, actor_name: person.username, client: admin.client },
    ])
    const write = await admin.delete(`/users/${admin.uid}`).set('if-match', '"99"').expect(412)
    expect(await rowsOf(write.headers['x-request-id']!)).toEqual([])
  })
})
