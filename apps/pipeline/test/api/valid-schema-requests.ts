import { schemaBody } from './app-under-test.ts'
import type { Fresh } from './create-owned-objects.ts'

/** A good request of every operation on schemas themselves. */
export function goodSchemas(given: () => { fresh: Fresh; loaded: { schema: string } }) {
  const loaded = () => ({ uid: given().loaded.schema })
  return {
    'schemas.list': async () => ({ query: '?pageSize=5&order=name:idesc&locale=de' }),
    'schemas.search': async () => ({ body: { query: 'schema', paging: { total: true } } }),
    'schemas.create': async () => ({ body: schemaBody({ description: 'What there is.', tags: ['a', 'b'] }) }),
    'schemas.read': async () => loaded(),
    'schemas.update': async () => ({ ...loaded(), body: schemaBody() }),
    'schemas.lineage': async () => loaded(),
    'schemas.delete': async () => ({ uid: await given().fresh.schema() }),
    'schemas.share': async () => ({
      ...loaded(),
      body: { publicAccess: 'READ', userAccess: [], userGroupAccess: [] },
    }),
  }
}
