import { describe, expect, it } from '@jest/globals'
import { buildPageHeaders } from '../src/search/page-headers.ts'

/** The addresses of the Link header by relation. */
function relations(headers: Record<string, string>): Record<string, string> {
  const found = (headers['Link'] ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)
  return Object.fromEntries([...found].map(([, address = '', rel = '']) => [rel, address]))
}

describe('the headers of a page', () => {
  it('contain the total, page and page size, and links to the neighbouring pages', () => {
    const headers = buildPageHeaders(
      { page: 2, pageSize: 10, total: 35 },
      '/api/v1/users?page=2&pageSize=10&query=a%26b',
    )
    expect(headers).toMatchObject({ 'X-Total-Count': '35', 'X-Page': '2', 'X-Page-Size': '10', 'X-Page-Count': '4' })
    expect(relations(headers)).toEqual({
      first: '/api/v1/users?page=1&pageSize=10&query=a%26b',
      prev: '/api/v1/users?page=1&pageSize=10&query=a%26b',
      next: '/api/v1/users?page=3&pageSize=10&query=a%26b',
      last: '/api/v1/users?page=4&pageSize=10&query=a%26b',
    })
  })

  it('contain no Link if the address is unknown', () => {
    expect(buildPageHeaders({ page: 1, pageSize: 10, total: 35 })).toEqual({
      'X-Total-Count': '35',
      'X-Page': '1',
      'X-Page-Size': '10',
      'X-Page-Count': '4',
    })
  })

  it.each([
    [{ page: 1, pageSize: 10, total: 0 }, ['first', 'last'], '1'],
    [{ page: 1, pageSize: 10, total: 10 }, ['first', 'last'], '1'],
    [{ page: 1, pageSize: 10, total: 11 }, ['first', 'next', 'last'], '2'],
    [{ page: 2, pageSize: 10, total: 11 }, ['first', 'prev', 'last'], '2'],
  ])('of %j have the relations %j', (page, expected, count) => {
    const headers = buildPageHeaders(page, '/things')
    expect(Object.keys(relations(headers))).toEqual(expected)
    expect(headers['X-Page-Count']).toBe(count)
  })

  it('link from beyond the end to the last page as prev', () => {
    expect(relations(buildPageHeaders({ page: 9, pageSize: 10, total: 25 }, '/things'))['prev']).toBe(
      '/things?page=3&pageSize=10',
    )
  })

  it('link to a next page while pages are full, if the total is unknown', () => {
    const full = buildPageHeaders({ page: 1, pageSize: 10, rows: 10 }, '/things?total=false')
    expect(Object.keys(full)).toEqual(['X-Page', 'X-Page-Size', 'Link'])
    expect(Object.keys(relations(full))).toEqual(['first', 'next'])
    expect(relations(buildPageHeaders({ page: 1, pageSize: 10, rows: 9 }, '/things'))['next']).toBeUndefined()
    expect(relations(buildPageHeaders({ page: 1, pageSize: 10 }, '/things'))['next']).toBeDefined()
  })

  it('link to the next page by cursor, from a numbered page and from a page of a cursor', () => {
    const page = { page: 2, pageSize: 10, total: 35, more: true, cursor: 'W10.x' }
    const headers = buildPageHeaders(page, '/things?page=2&query=a')
    expect(headers['X-Next-Cursor']).toBe('W10.x')
    expect(relations(headers)).toMatchObject({
      prev: '/things?page=1&query=a&pageSize=10',
      next: '/things?query=a&after=W10.x&pageSize=10',
    })
    const further = relations(buildPageHeaders({ ...page, page: 3, byCursor: true }, '/things?after=W9.x&query=a'))
    expect(further).toEqual({
      first: '/things?query=a&page=1&pageSize=10',
      next: '/things?after=W10.x&query=a&pageSize=10',
      last: '/things?query=a&page=4&pageSize=10',
    })
    expect(buildPageHeaders(page)).toMatchObject({ 'X-Next-Cursor': 'W10.x' })
  })

  it('have no next link if no row follows, even if the total is larger', () => {
    const headers = buildPageHeaders({ page: 2, pageSize: 10, total: 35, more: false }, '/things')
    expect(headers).not.toHaveProperty('X-Next-Cursor')
    expect(relations(headers)['next']).toBeUndefined()
  })

  it('have no last link if the last page is beyond row 100,000', () => {
    expect(relations(buildPageHeaders({ page: 1, pageSize: 1000, total: 101_000 }, '/things'))['last']).toBeDefined()
    expect(relations(buildPageHeaders({ page: 1, pageSize: 1000, total: 101_001 }, '/things'))['last']).toBeUndefined()
  })

  it('link from a list without paging to its second page', () => {
    const headers = buildPageHeaders({ page: 1, pageSize: 1000, total: 1500 }, '/things?paging=false&page=7')
    expect(relations(headers)['next']).toBe('/things?page=2&pageSize=1000')
  })

  it('keep repeated parameters and their encoding', () => {
    const url = '/things?filter=name:eq:a%2Bb&filter=at:gt:2024-01-01T00:00:00%2B02:00'
    const next = new URL(relations(buildPageHeaders({ page: 1, pageSize: 1, total: 2 }, url))['next']!, 'http://host')
    expect(next.searchParams.getAll('filter')).toEqual(['name:eq:a+b', 'at:gt:2024-01-01T00:00:00+02:00'])
  })

  it.each([
    '/things?query=a>; rel="next"',
    '//evil.example/things',
    'http://evil.example//evil.example/things?a=<>',
    '/<things>?',
  ])('link to the same host only, and contain no injected relation: %s', (url) => {
    const headers = buildPageHeaders({ page: 1, pageSize: 10, total: 35 }, url)
    expect(Object.keys(relations(headers))).toEqual(['first', 'next', 'last'])
    for (const address of Object.values(relations(headers))) {
      expect(new URL(address, 'http://host').origin).toBe('http://host')
    }
  })

  it('contain relative addresses for an absolute one', () => {
    const headers = buildPageHeaders({ page: 1, pageSize: 10, total: 5 }, new URL('https://host/things?query=a'))
    expect(relations(headers)['first']).toBe('/things?query=a&page=1&pageSize=10')
  })

  it('contain only the next link if the address is long', () => {
    const headers = buildPageHeaders({ page: 2, pageSize: 10, total: 35 }, `/things?query=${'x'.repeat(2000)}`)
    expect(Object.keys(relations(headers))).toEqual(['next'])
    const ended = buildPageHeaders({ page: 4, pageSize: 10, total: 35 }, `/things?query=${'x'.repeat(2000)}`)
    expect(ended).not.toHaveProperty('Link')
  })
})
