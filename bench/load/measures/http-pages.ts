import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export const pageCount = 100
const recordsPerPage = 1_000
/** Every fifth record has a row in the group `children`. */
const recordsPerChild = 5
export const rowCount = pageCount * recordsPerPage * (1 + 1 / recordsPerChild)

/** Returns a record with nested values, a list, and a group of one row for some ids. */
function createRecord(id: number): object {
  return {
    id,
    uuid: `7d3c2a10-${id}-4f6e`,
    name: `Person ${id}`,
    age: id % 90,
    weight: (id % 700) / 10,
    active: id % 3 === 0,
    registered: `2026-03-0${1 + (id % 9)}`,
    updated: `2026-05-01T10:${String(id % 60).padStart(2, '0')}:00.000Z`,
    address: {
      city: `City ${id % 50}`,
      street: `Street ${id % 1_000}`,
      post: { code: String(10_000 + (id % 5_000)), zone: id % 7 },
    },
    tags: ['a', `b${id % 10}`],
    ...(id % recordsPerChild === 0 && { children: [{ name: `Child ${id}`, born: '2020-01-02', doses: id % 4 }] }),
  }
}

/** Returns the same record with two locations, whose numbers have up to 17 digits. */
const createLocatedRecord = (id: number): object => ({
  ...createRecord(id),
  position: { type: 'Point', coordinates: [30.123 + id / 700_001, -1.987 - id / 900_001, 1_500.5] },
  gps: { latitude: 1 / (id + 3), longitude: 2 / (id + 7) },
})

export const recordShapes = { nested: createRecord, coordinates: createLocatedRecord }

interface PageServer extends AsyncDisposable {
  url: string
  /** Bytes of all pages. */
  bytes: number
}

/**
 * Starts a function that returns the pages of a shape. It prepares their bytes, so that it needs little processor time
 * for a response.
 */
export async function startPageServer(shape: keyof typeof recordShapes): Promise<PageServer> {
  const pages = Array.from({ length: pageCount }, (_, page) => createPage(page, recordShapes[shape]))
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { page } = JSON.parse(Buffer.concat(chunks).toString()) as { page: number }
      response.writeHead(200, { 'content-type': 'application/json' }).end(pages[page - 1])
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rows`,
    bytes: pages.reduce((sum, { length }) => sum + length, 0),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}

function createPage(page: number, create: (id: number) => object): Buffer {
  const rows = Array.from({ length: recordsPerPage }, (_, index) => create(page * recordsPerPage + index))
  const isLast = page === pageCount - 1
  return Buffer.from(JSON.stringify({ key: ['id'], rows, ...(!isLast && { nextToken: page + 1 }) }))
}
