import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { PagingRequest, SearchRequest, FieldViolation } from '@sluice/contracts'
import { serializeCursor, parseCursor, buildAfterKeysCondition, keyText } from './keyset.ts'
import { buildFilterCondition, propertyNameOf, queryCondition, type SearchTarget } from './filter.ts'
import { createOrderParser, orderBy, withId, type OrderTerm } from './order.ts'
import { columnOf, type ColumnReference } from './properties.ts'
import { InvalidSearch, InvalidTerm, rejectTerm } from './invalid-search.ts'

export interface SearchResource extends SearchTarget {
  /** The name that identifies the resource in cursors. */
  name?: string
  /**
   * The id column, which is unique and not null. It is the last term of every order, so that pages neither overlap nor
   * skip rows.
   */
  idColumn: ColumnReference
  /** The type of the id. Default: `uid`. */
  idType?: 'uid' | 'number'
  /** Order terms for requests without an order, such as `['name:iasc']`. Default: by id. */
  defaultOrder?: readonly string[]
}

/** The parts of a SELECT statement. */
export interface SearchPlan {
  /** The conditions to combine with AND. Each is in parentheses. */
  where: RawBuilder<SqlBool>[]
  /** The cursor's condition: the page starts after its row. The count does not include it. */
  after: RawBuilder<SqlBool> | undefined
  /** The ORDER BY terms. Never empty; the last one is the id. */
  order: RawBuilder<unknown>[]
  /** The sort keys of a row, in the order that `cursorAfter` expects. */
  keys: RawBuilder<string | null>[]
  limit: number
  offset: number
  /** The page number, from 1. */
  page: number
  /** The number of rows per page. */
  pageSize: number
  /** Whether the request wants the total. */
  counted: boolean
  /** The names of the properties that filters use. */
  filtered: string[]
  /** Whether the request has a `query`. */
  looksForText: boolean
  /** Returns the cursor after a row with these sort keys, or undefined if the keys are too long. */
  cursorAfter(keys: (string | null)[]): string | undefined
}

const defaultPageSize = 50
/** The maximum page size, which is also the limit for requests without paging. */
const maxPageSize = 1000
/** The maximum number of rows that the database skips for a page. */
export const maxOffset = 100_000

/** Converts a search request to parts of a SQL statement. Throws InvalidSearch with one violation per invalid term. */
export function buildSearchPlan(request: SearchRequest, resource: SearchResource): SearchPlan {
  const violations: FieldViolation[] = []
  /** Returns the result of `parse`. For an invalid term, records its violation and returns undefined. */
  function parseTerm<T>(pointer: string, parse: () => T): T | undefined {
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof InvalidTerm)) throw error
      violations.push({ pointer, detail: error.message })
    }
  }

  const query = parseTerm('/query', () => queryCondition(request.query, resource))
  const filters = (request.filter ?? []).map((filter, index) =>
    parseTerm(`/filter/${index}`, () => buildFilterCondition(filter, resource)),
  )
  const parseOrder = createOrderParser(resource.properties)
  const orderTerms = (request.order ?? []).map((term, index) => parseTerm(`/order/${index}`, () => parseOrder(term)))
  const paging = parseTerm('/paging/page', () => parsePage(request.paging))
  // A cursor belongs to an order, so it can only be parsed if the order is valid.
  if (violations.length > 0 || !paging) throw new InvalidSearch(violations)
  const requestedTerms = orderTerms.length > 0 ? orderTerms.filter(isDefined) : defaultTerms(resource)
  const terms = withId(requestedTerms, { key: columnOf(resource.idColumn), type: resource.idType ?? 'uid' })
  const listId = identifyList(request, resource)
  const cursorPosition = parseTerm('/paging/after', () => parsePosition(request.paging, listId, terms))
  if (violations.length > 0) throw new InvalidSearch(violations)

  const page = cursorPosition?.page ?? paging.page
  const filterCondition = joinConditions(filters.filter(isDefined), request.rootJunction)
  return {
    where: [query, filterCondition].filter(isDefined),
    after: cursorPosition?.condition,
    order: terms.map(orderBy),
    keys: terms.map(keyText),
    ...paging,
    page,
    filtered: (request.filter ?? []).map(propertyNameOf),
    looksForText: query !== undefined,
    cursorAfter: (keys) => serializeCursor(listId, { page: page + 1, keys }),
  }
}

const defaultTerms = ({ defaultOrder = [], properties }: SearchResource): OrderTerm[] =>
  defaultOrder.map(createOrderParser(properties))

/** Returns a text that identifies a list: everything that determines the rows and their order. */
const identifyList = (
  { query = '', filter = [], order, rootJunction = 'AND' }: SearchRequest,
  resource: SearchResource,
) => JSON.stringify([resource.name, query.trim(), filter, rootJunction, order?.length ? order : resource.defaultOrder])

/** Returns the limit, offset and page number of a request. Rejects a page after row `maxOffset`. */
function parsePage({ page = 1, pageSize = defaultPageSize, paging = true, total = true }: PagingRequest) {
  if (!paging) return { limit: maxPageSize, offset: 0, page: 1, pageSize: maxPageSize, counted: total }
  const offset = (page - 1) * pageSize
  if (offset > maxOffset) {
    rejectTerm(
      `must not start after row ${maxOffset}: narrow the search, or follow the cursor of each page to the next one`,
    )
  }
  return { limit: pageSize, offset, page, pageSize, counted: total }
}

/**
 * Returns the page number in the request's cursor, and the condition for the rows after it. Returns undefined without a
 * cursor. Rejects a cursor of another list, and one together with a page number or without paging.
 */
function parsePosition({ after: text, page, paging }: PagingRequest, listId: string, terms: readonly OrderTerm[]) {
  if (text === undefined) return undefined
  if (page !== undefined) rejectTerm('already determines the page: omit page')
  if (paging === false) rejectTerm('requires paging')
  const cursor = parseCursor(listId, text, terms.length)
  return { page: cursor.page, condition: buildAfterKeysCondition(terms, cursor.keys) }
}

/** Joins conditions by AND or OR in parentheses. Returns undefined if none exist. */
function joinConditions(
  conditions: RawBuilder<SqlBool>[],
  junction: 'AND' | 'OR' = 'AND',
): RawBuilder<SqlBool> | undefined {
  if (conditions.length === 0) return undefined
  return sql`(${sql.join(conditions, junction === 'OR' ? sql` or ` : sql` and `)})`
}

const isDefined = <T>(value: T | undefined): value is T => value !== undefined
