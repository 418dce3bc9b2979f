import { describe, expect, it } from '@jest/globals'
import { warehouseTypes } from '@sluice/contracts/connector-types'
import { type Publication, type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { routeBySchema } from './route-by-schema.ts'

const publication = { run: 'r', attempt: 1, rows: 1, bytes: 1, publishedAt: new Date(), tables: [] }
const gone = new WarehouseProblem('WAREHOUSE_MISSING', 'Gone.')
const away = new WarehouseProblem('WAREHOUSE_UNAVAILABLE', 'Away.', { retryable: true })

type Answer = Publication | WarehouseProblem | undefined

const answering = (answer: Answer) =>
  ({
    loader: {
      async fenceRun() {
        if (answer instanceof Error) throw answer
        return answer
      },
    },
  }) as unknown as Warehouse

const closing = (one: Answer, other: Answer) =>
  routeBySchema(
    [
      [warehouseTypes.postgres, answering(one)],
      ['WAREHOUSE_B', answering(other)],
    ],
    async () => new Map(),
  ).loader.fenceRun('r', 1)

describe('fenceRun over two warehouses', () => {
  it('returns the publication of one warehouse even if the other is missing or unavailable', async () => {
    expect(await closing(undefined, publication)).toBe(publication)
    expect(await closing(gone, publication)).toBe(publication)
    expect(await closing(away, publication)).toBe(publication)
  })

  it('fails if one warehouse cannot answer and the other has no publication', async () => {
    await expect(closing(undefined, away)).rejects.toBe(away)
    await expect(closing(gone, away)).rejects.toBe(away)
    await expect(closing(gone, undefined)).rejects.toBe(gone)
    expect(await closing(undefined, undefined)).toBeUndefined()
  })
})
