import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody } from './quality-check-bodies.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'

let service: Service
let owner: Asking
let schema: string
let client: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  client = id
  const roles = ['VARIABLE', 'SCHEMA', 'DATA_PIPELINE', 'DATA_QUALITY_CHECK', 'VIEW', 'DESTINATION'] as const
  owner = service.as(
    await service.identity.person(
      id,
      roles.map((role) => `ROLE_MANAGE_${role}` as const),
    ),
  )
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const variable = async (name = `V_${randomBytes(4).toString('hex')}`) =>
  (await owner.post('/variables').send({ name, secured: false, value: '1' }).expect(201)).body as {
    id: string
    name: string
  }
const check = async (query: string, name = `Check ${randomBytes(4).toString('hex')}`) =>
  (await owner.post('/data-quality-checks').send(checkBody({ query, name })).expect(201)).body as {
    id: string
    name: string
  }
const database = (changes: object) => ({
  type: 'SQL_DATABASE_D',
  jdbcSource: { hostname: 'db.example.org', database: 'registry', username: 'reader', password: 'a value' },
  sqlQuery: 'select 1',
  ...changes,
})
const pipeline = async (changes: object) =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)).body as {
    id: string
    name: string
  }
const refused = async ({ id }: { id: string }) =>
  (await owner.delete(`/variables/${id}`).expect(409)).body as { detail: string; errors: object[] }

describe('a variable in use', () => {
  it('in checks cannot be deleted; the error names at most five checks, without those that only mention it', async () => {
    const one = await variable()
    const used = [1, 2, 3, 4, 5, 6].map((number) => `${number} uses ${one.name}`)
    for (const name of used.toReversed()) await check(`select 1 where 2 > \${ ${one.name} }`, name)
    await check(`select '\${${one.name}' -- \${${one.name}}`)
    await check(`select \${${one.name}x}`)
    const { detail } = await refused(one)
    expect(detail).toBe(
      `\${${one.name}} is used by the data quality checks ${used
        .slice(0, 5)
        .map((name) => `"${name}"`)
        .join(', ')}. Remove the variable from these objects first.`,
    )
  })

  it('in the settings or the encrypted secrets of a pipeline cannot be deleted', async () => {
    const [host, password, escaped] = [await variable(), await variable(), await variable('a "b" \\ c')]
    const first = await pipeline(database({ sqlQuery: `select * from t where year = \${${host.name}}` }))
    const jdbcSource = { hostname: 'h.example.org', database: 'd', username: 'u', password: `\${${password.name}}` }
    const second = await pipeline(database({ jdbcSource }))
    const third = await pipeline({
      type: 'SOURCE_SYSTEM_E',
      ...withSecrets(samples['SOURCE_SYSTEM_E'], 'a value'),
      survey: `\${${escaped.name}} and $\${${host.name}}`,
    })
    for (const [used, { name }] of [
      [host, first],
      [password, second],
      [escaped, third],
    ] as const) {
      const { detail } = await refused(used)
      expect(detail).toBe(
        `\${${used.name}} is used by the data pipelines "${name}". Remove the variable from these objects first.`,
      )
    }
    const both = await check(`select \${${password.name}}`)
    expect((await refused(password)).detail).toBe(
      `\${${password.name}} is used by the data quality checks "${both.name}" and the data pipelines "${second.name}". Remove the variable from these objects first.`,
    )
  })

  it('in a transformation cannot be deleted, also in quotes or in a list', async () => {
    const [one, text, list] = [await variable(), await variable(), await variable()]
    const statement = `update t set year = \${${one.name}} where name = '\${${text.name}}' and id in (\${${list.name}:list})`
    const { name } = await pipeline(database({ transformation: { sqlStatements: [{ statement }] } }))
    for (const used of [one, text, list])
      expect((await refused(used)).detail).toBe(
        `\${${used.name}} is used by the data pipelines "${name}". Remove the variable from these objects first.`,
      )
  })

  it('cannot be deleted, and the error does not name objects that the user may not see', async () => {
    const one = await variable()
    await check(`select \${${one.name}}`)
    await pipeline(database({ sqlQuery: `select * from t where year = \${${one.name}}` }))
    const other = service.as(await service.identity.person(client, ['ROLE_MANAGE_VARIABLE']))
    const { body } = await other.delete(`/variables/${one.id}`).expect(409)
    expect(body.detail).toBe(
      `\${${one.name}} is used by data quality checks that are not shared with you and data pipelines that are not shared with you. Remove the variable from these objects first.`,
    )
  })

  it('cannot be renamed, but its value can change', async () => {
    const one = await variable()
    const { id, name } = await check(`select \${${one.name}}`)
    const put = (changes: object) => owner.put(`/variables/${one.id}`).send({ ...one, ...changes })
    await put({ value: '2' }).expect(200)
    await put({ value: '3', secured: true }).expect(200)
    const { body } = await put({ name: `${one.name}_NEW`, value: '3' }).expect(409)
    expect(body.errors).toEqual([
      {
        pointer: '/name',
        detail: `\${${one.name}} is used by the data quality checks "${name}". Create a variable with the new name, and replace the old name there first.`,
      },
    ])
    await owner.delete(`/data-quality-checks/${id}`).expect(204)
    await put({ name: `${one.name}_NEW`, value: '3' }).expect(200)
    await owner.delete(`/variables/${one.id}`).expect(204)
  })

  it('does not affect a variable of the same name in another organisation', async () => {
    const one = await variable()
    await check(`select \${${one.name}}`)
    const { id } = await service.identity.client()
    const stranger = service.as(await service.identity.person(id, ['ROLE_MANAGE_VARIABLE']))
    const theirs = await stranger.post('/variables').send({ name: one.name, secured: false, value: '1' }).expect(201)
    await stranger.delete(`/variables/${theirs.body.id}`).expect(204)
    await refused(one)
  })
})
