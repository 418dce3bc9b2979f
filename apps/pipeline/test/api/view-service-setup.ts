import { afterAll, beforeAll } from '@jest/globals'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

/** What it takes to manage whatever is around views. */
export const roles = [
  'ROLE_MANAGE_SCHEMA',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_MANAGE_VIEW',
  'ROLE_MANAGE_WORKFLOW',
] as const

/** A service for all tests of a file, and in it an owner with a table that views can read. */
export function viewsUnderTest() {
  let service: Service
  let client: string
  let owner: Asking
  let place: LoadedPlace
  beforeAll(async () => {
    service = await startService()
    client = (await service.identity.client()).id
    owner = service.as(await service.identity.person(client, [...roles, 'ROLE_MANAGE_DESTINATION']))
    place = await loadedPlace(service, owner, client)
  })
  afterAll(() => service?.stop())
  return {
    get service() {
      return service
    },
    get client() {
      return client
    },
    get owner() {
      return owner
    },
    get place() {
      return place
    },
    create: async (query: string, changes: object = {}) =>
      (
        await owner
          .post('/views')
          .send(viewBody(place.schema, query, changes))
          .expect(201)
      ).body,
    rowsOf: async (id: string) => (await owner.get(`/views/${id}/data`).expect(200)).body.rows,
  }
}
