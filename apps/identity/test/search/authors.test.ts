import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
/** By whom each was made: an author's name, nobody, or somebody who was deleted. */
const made = { one: 'ann.maker', two: 'ann.maker', three: 'Bob.Maker', four: undefined, five: 'gone' }
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER'])
  const elsewhere = await service.client()
  const authors = new Map<string, string>()
  for (const username of ['ann.maker', 'Bob.Maker'])
    authors.set(username, (await service.user({ client: elsewhere, username })).uid)
  for (const [username, author] of Object.entries(made)) {
    const { uid } = await service.user({ client: admin.client, username })
    const by = author === 'gone' ? sql`gen_random_uuid()` : sql`${(author && authors.get(author)) ?? null}::uuid`
    await sql`update users set created_by = ${by}, updated_by = ${by} where uid = ${uid}`.execute(service.db)
  }
})
afterAll(() => service.stop())

const [none, ann, bob] = [['five', 'four'], ['one', 'two'], ['three']]

it.each([
  ['eq:ann.maker', ann],
  ['eq:ANN.maker', []],
  ['ieq:ANN.maker', ann],
  ['!eq:ann.maker', [...none, ...bob]],
  ['ne:Bob.Maker', [...none, ...ann]],
  ['ilike:maker', [...ann, ...bob]],
  ['!ilike:ANN', [...none, ...bob]],
  ['like:Maker', bob],
  ['$like:ann', ann],
  ['endsWith:MAKER', [...ann, ...bob]],
  ['token:maker', [...ann, ...bob]],
  ['!token:bob', [...none, ...ann]],
  ['in:[ann.maker,Bob.Maker]', [...ann, ...bob]],
  ['!in:[ann.maker]', bob],
  ['null', none],
  ['!null', [...ann, ...bob]],
  ['!empty', [...ann, ...bob]],
])('users are found by who made or changed them: %s', async (condition, expected) => {
  for (const property of ['createdBy', 'lastUpdatedBy']) {
    const filter = [`${property}:${condition}`, `id:!eq:${admin.uid}`]
    const { body } = await admin
      .post('/users/search')
      .send({ filter, order: ['username'], paging: {} })
      .expect(200)
    expect(body.map(({ username }: { username: string }) => username)).toEqual(expected.toSorted())
  }
})

it('a list can be in the order of who made them', async () => {
  const { body } = await admin
    .post('/users/search')
    .send({ filter: [`id:!eq:${admin.uid}`], order: ['createdBy:idesc', 'username'], paging: {} })
    .expect(200)
  expect(body.map(({ username }: { username: string }) => username)).toEqual([...bob, ...ann, ...none])
})
