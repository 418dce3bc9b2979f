import { describe, expect, it } from '@jest/globals'
import { type StandInRequest, type StandInResponse, startStandInServer } from '../../../../test/stand-in-server.ts'
import type { RestApiSettings } from '../rest-request.ts'
import { never, silentReport } from '../../../../test/connector-harness.ts'
import { openRestHarness } from './rest-harness.ts'

const rest = openRestHarness()
const key = ['id']
const records = (from: number, count: number) => Array.from({ length: count }, (_, index) => ({ id: from + index }))
const ids = async () => (await rest.harness.values('id')).map(([id]) => Number(id)).toSorted((a, b) => a - b)
const numbers = (count: number) => records(1, count).map(({ id }) => id)
const load = (paging: RestApiSettings['paging'], more: Partial<RestApiSettings> = {}) =>
  rest.load({ key, records: 'items', ...more, ...(paging && { paging }) })
const failure = (paging: RestApiSettings['paging'], more: Partial<RestApiSettings> = {}) =>
  load(paging, more).then(
    () => undefined,
    (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
  )

/** Returns the warnings that a load adds to its run. */
async function readWarnings(restApi: RestApiSettings): Promise<(string | undefined)[]> {
  const reading = { ...rest.createReading(restApi), table: 'rows' }
  const warnings = []
  for await (const { unread } of rest.harness.sources.read(reading, silentReport, never)) warnings.push(unread)
  return warnings
}

/** Answers with seven records in pages, by any way of paging. */
function respondInPages({ query, body }: StandInRequest): StandInResponse {
  const sent = body === '' ? Object.fromEntries(query) : { ...Object.fromEntries(query), ...JSON.parse(body).paging }
  const size = Math.min(Number(sent['size'] ?? 3), 3)
  const skip =
    sent['page'] !== undefined ? (Number(sent['page']) - 1) * size : Number(sent['after'] ?? sent['skip'] ?? 0)
  const items = records(skip + 1, Math.max(0, Math.min(size, 7 - skip)))
  const next = skip + size < 7 ? skip + size : undefined
  return {
    headers: next === undefined ? {} : { link: `<?after=${next}>; title="a, b"; rel="last next", </x>; rel=prev` },
    body: {
      items,
      total: 7,
      more: next !== undefined,
      'odata.nextLink': next === undefined ? null : `?after=${next}`,
      paging: { cursor: next ?? null, opaque: next === undefined ? undefined : { at: next } },
    },
  }
}

describe('paging', () => {
  it.each<[string, RestApiSettings['paging'], Partial<RestApiSettings>, number]>([
    ['a Link header', { type: 'LINK_HEADER' }, {}, 3],
    ['a link in the response with a dot in its name', { type: 'NEXT_LINK', path: 'odata.nextLink' }, {}, 3],
    ['a cursor', { type: 'CURSOR', path: 'paging.cursor', parameter: 'after' }, {}, 3],
    ['the last record', { type: 'CURSOR', lastRecordField: 'id', parameter: 'after', hasMore: 'more' }, {}, 3],
    ['the last record, until a page is empty', { type: 'CURSOR', lastRecordField: 'id', parameter: 'after' }, {}, 4],
    ['page numbers', { type: 'PAGE', parameter: 'page', sizeParameter: 'size', size: 3 }, {}, 4],
    ['page numbers and a last page', { type: 'PAGE', parameter: 'page', hasMore: 'more' }, {}, 3],
    // The server returns three records, although five are requested.
    ['offsets, if pages are smaller', { type: 'OFFSET', parameter: 'skip', sizeParameter: 'size', size: 5 }, {}, 4],
    ['offsets and a total', { type: 'OFFSET', parameter: 'skip', total: 'total' }, {}, 4],
    [
      'a cursor in the body of a POST request',
      { type: 'CURSOR', path: 'paging.cursor', parameter: 'paging.after', sizeParameter: 'paging.size', size: 2 },
      { method: 'POST', parametersIn: 'BODY', body: { paging: { status: 'open' }, filter: ['a'] } },
      4,
    ],
  ])('by %s reads all records', async (_name, paging, more, requests) => {
    rest.respond = respondInPages
    await load(paging, more)
    expect(await ids()).toEqual(numbers(7))
    expect(rest.paths()).toHaveLength(requests)
    expect(rest.server.requests.every(({ headers }) => headers.authorization === 'Bearer a-token-of-the-api')).toBe(
      true,
    )
    if (more.method === 'POST')
      expect(JSON.parse(rest.server.requests[1]!.body)).toEqual({
        paging: { status: 'open', size: 2, after: 2 },
        filter: ['a'],
      })
  })

  it('is previewed with one request', async () => {
    rest.respond = respondInPages
    const reading = rest.createReading({
      key,
      records: 'items',
      paging: { type: 'PAGE', parameter: 'page', total: 'total' },
    })
    const preview = await rest.harness.sources.preview(reading, 2, never)
    expect([preview.rows.length, preview.complete, rest.paths()]).toEqual([2, false, ['/v1?page=1']])
  })

  it('warns that only the first page was read if no paging is set', async () => {
    rest.respond = respondInPages
    expect(await readWarnings({ key, records: 'items' })).toEqual([
      'Only the first page was read, but its Link header points to a next page. Set restApi.paging.type to LINK_HEADER.',
    ])
  })

  it.each<[string, RestApiSettings['paging'], (request: StandInRequest) => StandInResponse, RegExp, number]>([
    [
      'a link that loops',
      { type: 'NEXT_LINK', path: 'next' },
      ({ query }) => ({ body: { items: records(1, 1), next: `?p=${(Number(query.get('p')) + 1) % 3}` } }),
      /^The API returned a page again that was already read, .* Check restApi\.paging\.path/,
      9,
    ],
    [
      'a link inside an object',
      { type: 'NEXT_LINK', path: 'next' },
      () => ({ body: { items: records(1, 3), next: { href: '?p=2' } } }),
      /^The response has no link under "next" \(restApi\.paging\.path\), but an object\. Set the path of the link/,
      1,
    ],
    [
      'a number instead of a link',
      { type: 'NEXT_LINK', path: 'next' },
      () => ({ body: { items: records(1, 3), next: 2 } }),
      /^The response has no link under "next" \(restApi\.paging\.path\), but a number\./,
      1,
    ],
    [
      'a cursor that repeats',
      { type: 'CURSOR', path: 'next', parameter: 'after' },
      () => ({ body: { items: records(1, 1), next: 'same' } }),
      /already read/,
      3,
    ],
    [
      'a parameter that the API ignores',
      { type: 'PAGE', parameter: 'seite' },
      () => ({ body: { items: records(1, 3) } }),
      /^The API returned the same records for two values of "seite"/,
      2,
    ],
    [
      'a last record without the cursor',
      { type: 'CURSOR', lastRecordField: 'uid', parameter: 'after' },
      () => ({ body: { items: records(1, 3) } }),
      /^The last record of a page has no "uid"/,
      1,
    ],
    [
      'more pages without a cursor',
      { type: 'CURSOR', path: 'next', parameter: 'after', hasMore: 'more' },
      () => ({ body: { items: records(1, 3), more: true } }),
      /^The API has more pages .* no cursor under "next"\. Correct restApi\.paging\.path\.$/,
      1,
    ],
    [
      'no boolean',
      { type: 'PAGE', parameter: 'page', hasMore: 'more' },
      () => ({ body: { items: records(1, 3), more: 'yes' } }),
      /^The response has no true or false under "more"/,
      1,
    ],
    [
      'no total',
      { type: 'PAGE', parameter: 'page', total: 'meta.total' },
      () => ({ body: { items: records(1, 3), meta: {} } }),
      /^The response has no number under "meta\.total"/,
      1,
    ],
  ])('fails with one sentence for %s', async (_name, paging, respond, message, maxRequests) => {
    rest.respond = respond
    expect(await failure(paging)).toEqual({ code: 'OTHER_PROTOCOL', message: expect.stringMatching(message) })
    expect(rest.paths().length).toBeLessThanOrEqual(maxRequests)
  })

  it('follows links with a colon in the first part of their path', async () => {
    const url = `${rest.server.url}/items:list`
    rest.respond = ({ path, query }) =>
      path === '/items:list'
        ? { body: query.has('p') ? { items: records(2, 1) } : { items: records(1, 1), next: `${url}?p=2` } }
        : { status: 404 }
    const paging = { type: 'NEXT_LINK', path: 'next' } as const
    await rest.harness.load(rest.createReading({ key, records: 'items', paging }, { url }))
    expect(await ids()).toEqual([1, 2])
    expect(rest.paths()).toEqual(['/items:list', '/items:list?p=2'])
  })

  it('does not follow a link to another host, and sends nothing to it', async () => {
    await using other = await startStandInServer(() => ({ body: { items: records(9, 1) } }))
    const elsewhere = other.url.replace('127.0.0.1', 'localhost')
    rest.respond = () => ({ body: { items: records(1, 1), next: `${elsewhere}/v1` } })
    expect(await failure({ type: 'NEXT_LINK', path: 'next' })).toEqual({
      code: 'REDIRECTED',
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ returned a link to localhost:\d+\. Sluice does not follow it/),
    })
    expect(other.requests).toEqual([])
    for (const next of ['http://[', 'mailto:data@example.org']) {
      rest.respond = () => ({ body: { items: records(1, 1), next } })
      expect(await failure({ type: 'NEXT_LINK', path: 'next' })).toMatchObject({
        message: expect.stringContaining('a link without a valid address'),
      })
    }
  })
})

describe('“not found” instead of an empty page', () => {
  /** Answers with seven records in pages of three, and with 404 after the last page. */
  const respondWithoutEmptyPage = (request: StandInRequest): StandInResponse => {
    const response = respondInPages(request)
    return (response.body as { items: unknown[] }).items.length > 0
      ? response
      : { status: 404, body: { detail: 'Invalid page.' } }
  }

  it.each<[RestApiSettings['paging'], number]>([
    [{ type: 'PAGE', parameter: 'page' }, 5],
    [{ type: 'OFFSET', parameter: 'skip' }, 5],
    [{ type: 'PAGE', parameter: 'page', total: 'total' }, 5],
  ])('is the end of %j, if the API repeats it', async (paging, requests) => {
    rest.respond = respondWithoutEmptyPage
    await load(paging)
    expect(await ids()).toEqual(numbers(7))
    expect(rest.paths()).toHaveLength(requests)
  })

  it('does not end a read if it is a passing fault', async () => {
    let faults = 1
    rest.respond = (request) =>
      request.query.get('page') === '2' && faults-- > 0 ? { status: 404 } : respondInPages(request)
    await load({ type: 'PAGE', parameter: 'page' })
    expect(await ids()).toEqual(numbers(7))
  })

  it.each<[string, RestApiSettings['paging'], (request: StandInRequest) => StandInResponse, string]>([
    ['the first page', { type: 'PAGE', parameter: 'page' }, () => ({ status: 404 }), 'NOT_FOUND'],
    [
      'a page that a total announces',
      { type: 'PAGE', parameter: 'page', total: 'total' },
      (request) => (request.query.get('page') === '2' ? { status: 404 } : respondInPages(request)),
      'NOT_FOUND',
    ],
    [
      'a page that hasMore announces',
      { type: 'PAGE', parameter: 'page', hasMore: 'more' },
      (request) => (request.query.get('page') === '2' ? { status: 404 } : respondInPages(request)),
      'NOT_FOUND',
    ],
    [
      'the target of a link',
      { type: 'NEXT_LINK', path: 'odata.nextLink' },
      (request) => (request.query.has('after') ? { status: 404 } : respondInPages(request)),
      'NOT_FOUND',
    ],
    [
      'a refused page (422), because some APIs return only the first thousand records',
      { type: 'PAGE', parameter: 'page' },
      (request) => (request.query.get('page') === '3' ? { status: 422 } : respondInPages(request)),
      'REQUEST_REFUSED',
    ],
  ])('fails for %s', async (_name, paging, respond, code) => {
    rest.respond = respond
    expect(await failure(paging)).toMatchObject({ code })
  })
})

describe('a total', () => {
  const paging = { type: 'OFFSET', parameter: 'skip', total: 'total', sizeParameter: 'n', size: 3 } as const
  /** Nine records, of which the second three are missing although the total counts them. */
  const withGap = (total: number) => (request: StandInRequest) => {
    const skip = Number(request.query.get('skip'))
    return { body: { total, items: skip === 3 ? [] : records(skip + 1, skip > 8 ? 0 : 3) } }
  }

  it('lets a read pass over an empty page in the middle, and warns that records are missing', async () => {
    rest.respond = withGap(9)
    await load(paging)
    expect(await ids()).toEqual([1, 2, 3, 7, 8, 9])
    expect(await readWarnings({ key, records: 'items', paging })).toEqual([
      expect.stringMatching(/^The API announced 9 records and returned 6\. Check the paging/),
    ])
  })

  it('that is too small hides no records', async () => {
    rest.respond = (request) => {
      const skip = Number(request.query.get('skip'))
      return { body: { total: 2, items: records(skip + 1, Math.max(0, Math.min(3, 7 - skip))) } }
    }
    await load(paging)
    expect(await ids()).toEqual(numbers(7))
  })

  it('that is too large ends the read after ten empty pages', async () => {
    rest.respond = withGap(1_000_000)
    await load(paging)
    expect(await ids()).toEqual([1, 2, 3, 7, 8, 9])
    expect(rest.paths()).toHaveLength(13)
  })

  it('accepts an API that repeats its last page', async () => {
    rest.respond = ({ query }) => {
      const page = Math.min(Number(query.get('page')), 2)
      return { body: { total: 5, items: records(page * 3 - 2, page === 2 ? 2 : 3) } }
    }
    await load({ type: 'PAGE', parameter: 'page', total: 'total' })
    expect(await ids()).toEqual(numbers(5))
  })
})
