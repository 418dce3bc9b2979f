import { randomUUID } from 'node:crypto'
import type { Fresh } from './create-owned-objects.ts'

/** A good request of every operation on variables and settings. */
export function goodVariables(given: () => { fresh: Fresh }) {
  const body = () => ({ name: randomUUID(), secured: true, value: 'not very secret' })
  const create = () => given().fresh.made('/variables', body())
  return {
    'variables.list': async () => ({ query: '?filter=secured:eq:true' }),
    'variables.search': async () => ({ body: { query: 'v', paging: { total: true } } }),
    'variables.create': async () => ({ body: body() }),
    'variables.read': async () => ({ uid: await create() }),
    'variables.update': async () => ({ uid: await create(), body: body() }),
    'variables.delete': async () => ({ uid: await create() }),
    'variables.save': async () => ({ body: [body(), body()] }),
    'settings.list': async () => ({}),
    'settings.read': async () => ({}),
    'settings.update': async () => ({ body: { value: 'dark' } }),
  }
}
