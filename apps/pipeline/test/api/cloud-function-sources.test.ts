import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from './app-under-test.ts'
import { addressed, invoked } from '@sluice/connectors/testing/function-stand-in'
import { account, key } from '@sluice/connectors/testing/function-stand-in'

let service: Service
let owner: Asking
let standIn: Awaited<ReturnType<typeof invoked>>
let schema: string

beforeAll(async () => {
  service = await startService()
  standIn = await invoked()
  const { id } = await service.identity.client()
  owner = service.as(await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(async () => {
  await standIn?.server[Symbol.asyncDispose]()
  await service?.stop()
})

describe('a function of AWS Lambda', () => {
  const place = () => ({ url: standIn.server.url, functionName: 'people', region: 'EU_WEST_1' })

  it('is tested, previewed and saved with its keys, and then lists the other functions', async () => {
    standIn.people.put({ id: 1 })
    const own = { type: 'FUNCTION', functionSource: { ...place(), ...key } }
    const { body: tried } = await owner.post('/data-pipelines/test-connection').send(own).expect(200)
    expect(tried).toMatchObject({ status: 'OK' })
    const { body: preview } = await owner.post('/data-pipelines/preview').send(own).expect(200)
    expect(preview).toMatchObject({ height: 1, complete: true })
    const { body: made, text } = await owner.post('/data-pipelines').send(pipelineBody(schema, own)).expect(201)
    for (const value of Object.values(key)) expect(text).not.toContain(value)
    const { body: found } = await owner.post(`/data-pipelines/${made.id}/lookups/functions`).send({ query: 'sto' })
    expect(found).toEqual([{ id: `${account}stock`, code: 'stock', name: 'stock' }])
    await owner.post(`/data-pipelines/${made.id}/lookups/surveys`).send({}).expect(404)
    // The lookup sends a region without an endpoint, like the form in the console. The stored keys may only be sent to
    // the stored endpoint.
    const typed = { functionSource: { region: 'EU_WEST_1' } }
    const { body: away } = await owner.post(`/data-pipelines/${made.id}/lookups/functions`).send(typed).expect(422)
    expect(away.errors).toMatchObject([{ pointer: '/functionSource/accessKey' }])
  })

  it('is listed by a look-up before the pipeline is saved', async () => {
    const look = (body: object) => owner.post('/lookups/FUNCTION/functions').send(body)
    // The look-up lists the functions, so the body names none.
    const { functionName: _, ...region } = place()
    const { body: found } = await look({ functionSource: { ...region, ...key }, query: 'peop' }).expect(200)
    expect(found).toEqual([{ id: `${account}people`, code: 'people', name: 'people' }])
    const { text } = await look({ functionSource: { ...place(), ...key, secretKey: 'another-key' } }).expect(422)
    expect(text).not.toContain('another-key')
    // An address does not list other functions.
    await look({ url: standIn.server.url, authToken: 'a-token' }).expect(404)
    const { body: nowhere } = await look({}).expect(422)
    expect(nowhere.errors).toMatchObject([{ pointer: '/url' }])
  })

  it('refuses a token, and a function with an address refuses an access key', async () => {
    const refused = async (functionSource: object) => {
      const { body } = await owner.post('/data-pipelines/test-connection').send({ type: 'FUNCTION', functionSource })
      return (body.errors as { pointer: string }[] | undefined)?.map(({ pointer }) => pointer)
    }
    expect(await refused({ ...place(), authToken: 'a-token' })).toEqual(['/functionSource/authToken'])
    expect(await refused({ url: standIn.server.url, ...key })).toEqual(['/functionSource/accessKey'])
  })
})

describe('a function with an address', () => {
  it('is reported as not found, with the advice to check the address, if it returns 404', async () => {
    const { server } = await addressed()
    await using _server = server
    const functionSource = { url: `${server.url}/api/nobody`, authToken: 'a-token' }
    const { body } = await owner.post('/data-pipelines/test-connection').send({ type: 'FUNCTION', functionSource })
    expect(body).toMatchObject({
      status: 'ERROR',
      message: expect.stringMatching(
        /^The function at 127\.0\.0\.1:\d+ returned “not found” \(404\)\. Check the address\./,
      ),
    })
  })
})
