import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'
import { viewBody } from './view-fixtures.ts'

let service: Service
let owner: Asking
let schema: string
let view: string
beforeAll(async () => {
  service = await startService()
  const { id: client } = await service.identity.client()
  const nouns = ['SCHEMA', 'DATA_PIPELINE', 'VARIABLE', 'DESTINATION', 'VIEW'] as const
  owner = service.as(
    await service.identity.person(
      client,
      nouns.map((noun) => `ROLE_MANAGE_${noun}` as const),
    ),
  )
  const { body } = await owner.post('/schemas').send(schemaBody()).expect(201)
  schema = body.id
  await (await service.stack.warehouses.open(client)).catalog.ensureSchema(body.schemaName)
  view = (await owner.post('/views').send(viewBody(schema, 'select 1 as value')).expect(201)).body.id
})
afterAll(() => service?.stop())

const isRecent = (text: string) => Math.abs(Date.parse(text) - Date.now()) < 60_000

/** A FHIR source with this object of address and secrets. */
const fhir = (apiSource: object) =>
  pipelineBody(schema, {
    type: 'FHIR',
    apiSource: { url: 'https://fhir.example.org/fhir', username: 'reader', ...apiSource },
    resourceTypes: ['Patient'],
  })

describe('the status of the secrets of a data pipeline', () => {
  it.each(Object.entries(samples).filter(([, { secrets }]) => secrets))(
    'says for each secret of the type %s whether it is stored, and since when',
    async (type, sample) => {
      const [object, ...names] = sample.secrets!
      const body = pipelineBody(schema, { type, ...withSecrets(sample, 'a value that is secret') })
      const { body: made } = await owner.post('/data-pipelines').send(body).expect(201)
      const { secretStatus } = made[object]
      const stored = Object.keys(secretStatus).filter((name) => secretStatus[name].set)
      expect(stored.toSorted()).toEqual(names.toSorted())
      for (const name of names) expect(isRecent(secretStatus[name].changedAt)).toBe(true)
      const { body: read } = await owner.get(`/data-pipelines/${made.id}`).expect(200)
      expect(read[object]).toEqual(made[object])
    },
  )

  it('changes only for secrets that a request sends', async () => {
    const { body: made } = await owner
      .post('/data-pipelines')
      .send(fhir({ password: 'first' }))
      .expect(201)
    const path = `/data-pipelines/${made.id}`
    expect(made.apiSource.secretStatus).toEqual({
      password: { set: true, changedAt: expect.any(String) },
      authToken: { set: false },
      privateKey: { set: false },
    })
    // What was read is sent back: the status in it is ignored.
    const { secretStatus } = made.apiSource
    const claimed = { ...secretStatus, authToken: { set: true, changedAt: '2020-01-01T00:00:00Z' } }
    const sent = { ...made, apiSource: { ...made.apiSource, secretStatus: claimed } }
    const { body: kept } = await owner.put(path).send(sent).expect(200)
    expect(kept.apiSource.secretStatus).toEqual(secretStatus)
    const replacing = { ...made, apiSource: { ...made.apiSource, password: 'second' } }
    const { body: replaced } = await owner.put(path).send(replacing).expect(200)
    const { changedAt } = replaced.apiSource.secretStatus.password
    expect(Date.parse(changedAt)).toBeGreaterThan(Date.parse(secretStatus.password.changedAt))
    const exchanging = { ...made, apiSource: { ...made.apiSource, password: '', authToken: 'a token', username: null } }
    const { body: exchanged } = await owner.put(path).send(exchanging).expect(200)
    expect(exchanged.apiSource.secretStatus).toMatchObject({ password: { set: false }, authToken: { set: true } })
    expect(exchanged.apiSource.secretStatus.password).not.toHaveProperty('changedAt')
  })

  it('is in lists, and is set by a bulk save', async () => {
    const body = fhir({ password: 'first' })
    await owner
      .post('/data-pipelines/bulk')
      .send({ dataPipelines: [body] })
      .expect(200)
    const { body: found } = await owner.get(`/data-pipelines?filter=name:eq:${body.name}`).expect(200)
    expect(found[0].apiSource.secretStatus.password).toEqual({ set: true, changedAt: expect.any(String) })
  })

  it('has no time for secrets that an older version stored, until they are sent again', async () => {
    const { body: made } = await owner
      .post('/data-pipelines')
      .send(fhir({ password: 'first' }))
      .expect(201)
    const path = `/data-pipelines/${made.id}`
    await sql`update data_pipelines set secret_times = null where uid = ${made.id}`.execute(service.stack.db)
    const { body: old } = await owner.get(path).expect(200)
    expect(old.apiSource.secretStatus).toEqual({
      password: { set: true },
      authToken: { set: false },
      privateKey: { set: false },
    })
    const { body: kept } = await owner.put(path).send(old).expect(200)
    expect(kept.apiSource.secretStatus).toEqual(old.apiSource.secretStatus)
    const sent = { ...old, apiSource: { ...old.apiSource, password: 'second' } }
    const { body: replaced } = await owner.put(path).send(sent).expect(200)
    expect(isRecent(replaced.apiSource.secretStatus.password.changedAt)).toBe(true)
  })

  it('counts a secret as not set if its key is missing', async () => {
    const { body: made } = await owner
      .post('/data-pipelines')
      .send(fhir({ password: 'first' }))
      .expect(201)
    await sql`
      update data_pipelines set secret_times = null, source_secrets = 'gone' || substr(source_secrets, strpos(source_secrets, '.'))
      where uid = ${made.id}`.execute(service.stack.db)
    const { body } = await owner.get(`/data-pipelines/${made.id}`).expect(200)
    expect(body.apiSource.secretStatus.password).toEqual({ set: false })
  })
})

describe('the status of the secret of a destination', () => {
  it('is beside the address, and changes with the kind of target', async () => {
    const url = 'https://dhis2.example.org'
    const body = { name: 'To DHIS2', disabled: false, runTrigger: 'NEVER', viewSource: { id: view } }
    const first = { ...body, apiTarget: { url, username: 'importer', password: 'secret' } }
    const { body: made } = await owner.post('/destinations').send(first).expect(201)
    expect(made.apiTarget.secretStatus).toEqual({ password: { set: true, changedAt: expect.any(String) } })
    const path = `/destinations/${made.id}`
    const { body: kept } = await owner.put(path).send(made).expect(200)
    expect(kept.apiTarget).toEqual(made.apiTarget)
    const { body: open } = await owner
      .put(path)
      .send({ ...body, apiTokenTarget: { url } })
      .expect(200)
    expect(open.apiTokenTarget.secretStatus).toEqual({ authToken: { set: false } })
  })
})

describe('the status of the value of a variable', () => {
  it('is shown for secured variables only, and keeps its time with the value', async () => {
    const { body: made } = await owner.post('/variables').send({ name: 'KEY', secured: true, value: 'a' }).expect(201)
    expect(made.secretStatus).toEqual({ value: { set: true, changedAt: expect.any(String) } })
    const path = `/variables/${made.id}`
    const { body: kept } = await owner
      .put(path)
      .send({ ...made, name: 'OTHER_KEY' })
      .expect(200)
    expect(kept.secretStatus).toEqual(made.secretStatus)
    const plain = { name: 'OTHER_KEY', secured: false, value: 'b' }
    expect((await owner.put(path).send(plain).expect(200)).body).not.toHaveProperty('secretStatus')
    const { body: secured } = await owner.put(path).send({ name: 'OTHER_KEY', secured: true }).expect(200)
    expect(secured.secretStatus).toEqual({ value: { set: true } })
    const { body: saved } = await owner.put('/variables').send([{ name: 'OTHER_KEY', secured: true, value: 'c' }])
    expect(isRecent(saved[0].secretStatus.value.changedAt)).toBe(true)
  })
})

describe('the status of secrets that a configuration saves', () => {
  const configuration = (value: string | undefined) => ({
    schemas: [{ name: 'Configured', permanent: false, providerSchema: 'SQL_DATABASE_D' }],
    variables: [
      { name: 'CONFIGURED', secured: true, ...(value === undefined ? { redacted: ['/value'] } : { value }) },
      { name: 'CONFIGURED_FIRST', secured: true, value: 'first' },
    ],
    dataPipelines: [
      {
        name: 'Configured',
        type: 'FHIR',
        disabled: false,
        runTrigger: 'NEVER',
        apiSource: { url: 'https://fhir.example.org/fhir', username: 'reader', password: 'first' },
        resourceTypes: ['Patient'],
        dataWarehouseTarget: { schema: { name: 'Configured' } },
      },
    ],
  })
  const apply = (value: string | undefined) => owner.post('/configuration/apply').send(configuration(value)).expect(200)
  const read = async () => {
    const variables = await owner.get('/variables?filter=name:like:CONFIGURED&order=name:asc').expect(200)
    const pipelines = await owner.get('/data-pipelines?filter=name:eq:Configured').expect(200)
    return [...variables.body, pipelines.body[0].apiSource].map(({ secretStatus }) => secretStatus)
  }

  it('is not set without a value, and has the time of the apply that sent another value', async () => {
    await apply(undefined)
    const [missing, given, source] = await read()
    expect(missing).toEqual({ value: { set: false } })
    expect(isRecent(given.value.changedAt)).toBe(true)
    expect(isRecent(source.password.changedAt)).toBe(true)
    await apply('later')
    expect(await read()).toEqual([{ value: { set: true, changedAt: expect.any(String) } }, given, source])
  })

  it('is not in an export', async () => {
    const { text } = await owner.get('/configuration').expect(200)
    expect(text).toContain('CONFIGURED_FIRST')
    expect(text).not.toMatch(/secretStatus|changedAt|"may"/)
  })
})
