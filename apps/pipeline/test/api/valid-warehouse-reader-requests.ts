import { randomUUID } from 'node:crypto'
import type { Fresh } from './create-owned-objects.ts'

/**
 * A valid request for every operation on warehouse readers. The readers are deleted soon, because their number is
 * limited.
 */
export function goodWarehouseReaders(given: () => { fresh: Fresh; loaded: { schema: string } }) {
  const body = () => ({ name: `Reader ${randomUUID()}`, schemas: [{ id: given().loaded.schema }] })
  let kept: Promise<string> | undefined
  const uid = async () => ({ uid: await (kept ??= given().fresh.made('/warehouse-readers', body())) })
  return {
    'warehouseReaders.certificate': async () => ({}),
    'warehouseReaders.list': async () => ({ query: '?pageSize=5&order=name:idesc&locale=de' }),
    'warehouseReaders.search': async () => ({ body: { query: 'reader', paging: { total: true } } }),
    'warehouseReaders.create': async () => ({ body: body() }),
    'warehouseReaders.read': uid,
    'warehouseReaders.update': async () => ({ ...(await uid()), body: { ...body(), expires: '2099-01-01T00:00:00Z' } }),
    'warehouseReaders.delete': async () => ({ uid: await given().fresh.made('/warehouse-readers', body()) }),
    'warehouseReaders.rotate': uid,
  }
}
