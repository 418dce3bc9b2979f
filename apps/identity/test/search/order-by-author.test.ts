import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'

let service: Service
/** The user who created the application. */
let colleague: string
let admin: Awaited<ReturnType<Service['as']>>
/** The creator of each user: a user, an application, none, or a deleted user. */
const creators = {
  one: 'ann.maker',
  two: 'ann.maker',
  three: 'Bob.Maker',
  four: undefined,
  five: 'gone',
  six: 'robot-app',
}
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER'])
  const otherClient = await service.client()
  const authors = new Map<string, string>()
  for (const username of ['ann.maker', 'Bob.Maker'])
    authors.set(username, (await service.user({ client: otherClient, username })).uid)
  const others = await service.as(
    ['ROLE_MANAGE_SSO_CLIENT_CONFIG', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'],
    admin.client,
  )
  const { body: robot } = await others
    .post('/sso-client-configs')
    .send(applicationBody({ ssoClientId: 'robot-app' }))
    .expect(201)
  authors.set('robot-app', robot.id)
  colleague = others.uid
  for (const [username, author] of Object.entries(creators)) {
    const { uid } = await service.user({ client: admin.client, username })
    const by = author === 'gone' ? sql`gen_random_uuid()` : sql`${(author && authors.get(author)) ?? null}::uuid`
    await sql`update users set created_by = ${by}, updated_by = ${by} where uid = ${uid}`.execute(service.db)
  }
})
afterAll(() => service.stop())

const [none, ann, bob, robot] = [['five', 'four'], ['one', 'two'], ['three'], ['six']]

it.each([
  ['eq:ann.maker', ann],
  ['eq:ANN.maker', []],
  ['ieq:ANN.maker', ann],
  ['!eq:ann.maker', [...none, ...bob, ...robot]],
  ['eq:robot-app', robot],
  ['ilike:ROBOT', robot],
  ['startsWith:robot', robot],
  ['ne:Bob.Maker', [...none, ...ann, ...robot]],
  ['ilike:maker', [...ann, ...bob]],
  ['!ilike:ANN', [...none, ...bob, ...robot]],
  ['like:Maker', bob],
  ['$like:ann', ann],
  ['endsWith:MAKER', [...ann, ...bob]],
  ['token:maker', [...ann, ...bob]],
  ['!token:bob', [...none, ...ann, ...robot]],
  ['in:[ann.maker,Bob.Maker]', [...ann, ...bob]],
  ['!in:[ann.maker]', [...bob, ...robot]],
  ['null', none],
  ['!null', [...ann, ...bob, ...robot]],
  ['!empty', [...ann, ...bob, ...robot]],
])('finds users by the user who created or changed them: %s', async (condition, expected) => {
  for (const property of ['createdBy', 'lastUpdatedBy']) {
    const filter = [`${property}:${condition}`, `id:!in:[${admin.uid},${colleague}]`]
    const { body } = await admin
      .post('/users/search')
      .send({ filter, order: ['username'], paging: {} })
      .expect(200)
    expect(body.map(({ username }: { username: string }) => username)).toEqual(expected.toSorted())
  }
})

it('orders a list by the user who created each row', async () => {
  const { body } = await admin
    .post('/users/search')
    .send({ filter: [`id:!in:[${admin.uid},${colleague}]`], order: ['createdBy:idesc', 'username'], paging: {} })
    .expect(200)
  expect(body.map(({ username }: { username: string }) => username)).toEqual([...robot, ...bob, ...ann, ...none])
  expect(body[0]).toMatchObject({ createdBy: 'robot-app', lastUpdatedBy: 'robot-app' })
})
