import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { deletedClient } from './create-deleted-organisation.ts'

let service: Service
let boss: Asking
beforeAll(async () => {
  service = await startService()
  const client = await service.identity.client()
  boss = service.as(await service.identity.person(client.id, ['ROLE_SUPER_ADMIN']))
})
afterAll(() => service?.stop())

const held = async (client: string) =>
  (await service.stack.db.selectFrom('schemas').select('id').where('client', '=', client).execute()).length

describe('a deleted organisation', () => {
  it('is listed with the date of its erasure 30 days later, and is erased at once on request', async () => {
    const uid = await deletedClient(service)
    const { body } = await boss.get('/deleted-clients').expect(200)
    const found = body.find(({ id }: { id: string }) => id === uid)
    expect(Date.parse(found.eraseAfter) - Date.parse(found.deleted)).toBe(30 * 86_400_000)
    expect(await held(uid)).toBe(1)

    await boss.delete(`/deleted-clients/${uid}`).expect(204)
    expect(await held(uid)).toBe(0)
    await boss.delete(`/deleted-clients/${uid}`).expect(404)
    const { rows } = await sql<{ details: object }>`
      select details from audit where operation = 'deletedClients.erase' and object = ${uid}`.execute(service.stack.db)
    expect(rows).toMatchObject([{ details: { erased: { schemas: 1 } } }])
  })

  it('is the only kind that can be erased: an existing organisation gives 404 and keeps its data', async () => {
    const client = await service.identity.client()
    const person = await service.identity.person(client.id, ['ROLE_MANAGE_SCHEMA'])
    await service
      .as(person)
      .post('/schemas')
      .send({ name: 'Kept', permanent: false, providerSchema: 'SQL_DATABASE_D' })
      .expect(201)
    await boss.delete(`/deleted-clients/${client.id}`).expect(404)
    expect(await held(client.id)).toBe(1)
  })
})
