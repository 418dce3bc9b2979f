import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { sealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { credentials, type Dhis2StandIn, startDhis2, token } from '../dhis2/dhis2-stand-in.ts'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let dhis2: Dhis2StandIn
let client: string
let owner: Asking
beforeAll(async () => {
  service = await startService()
  dhis2 = await startDhis2()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
})
afterAll(async () => {
  await dhis2?.stop()
  await service?.stop()
})

describe('a look-up for a pipeline from DHIS2', () => {
  it('uses the submitted credentials, and the stored ones only for the stored address', async () => {
    const look = (path: string, asked: object) => owner.post(path).send(asked)
    const unsaved = '/lookups/SOURCE_SYSTEM_C/data-elements'
    expect((await look(unsaved, { url: dhis2.url, ...credentials, query: '1st' }).expect(200)).body).toHaveLength(1)
    expect((await look(unsaved, { url: dhis2.url, authToken: token }).expect(200)).body).toHaveLength(3)
    await look(unsaved, {}).expect(422)
    await look(unsaved, { url: 'http://10.0.0.1', ...credentials }).expect(422)

    const { uid } = await savedPipeline()
    const saved = `/data-pipelines/${uid}/lookups/data-elements`
    expect((await look(saved, {}).expect(200)).body).toHaveLength(3)
    expect((await look(saved, { url: 'http://127.0.0.1:2' }).expect(422)).body.errors[0].pointer).toBe('/url')
    await look(saved, { password: 'wrong-password' }).expect(422)
    // A token that is typed takes the place of the password that is stored, wherever it goes.
    expect((await look(saved, { authToken: token, query: '1st' }).expect(200)).body).toHaveLength(1)
    const away = await look(saved, { url: 'http://127.0.0.1:2', authToken: token }).expect(422)
    expect(away.body.detail).toContain('127.0.0.1:2')
  })

  async function savedPipeline() {
    const uid = crypto.randomUUID()
    await owner.post('/schemas').send(schemaBody()).expect(201)
    const { id: schema } = await service.stack.db.selectFrom('schemas').select('id').executeTakeFirstOrThrow()
    const keys = keyRing(service.environment['SECRET_KEYS']!)
    await service.stack.db
      .insertInto('data_pipelines')
      .values({
        uid,
        client,
        name: 'From DHIS2',
        type: 'SOURCE_SYSTEM_C',
        schema_id: schema,
        table_name: 'dhis2',
        disabled: false,
        run_trigger: 'NEVER',
        public_access: 'READ_WRITE',
        settings: JSON.stringify({ apiSource: { url: dhis2.url, username: credentials.username } }),
        source_secrets: sealSourceSecrets(uid, { password: credentials.password }, keys),
      })
      .execute()
    return { uid }
  }
})
