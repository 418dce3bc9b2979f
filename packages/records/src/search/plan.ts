import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { PagingRequest, SearchRequest, Violation } from '@sluice/contracts'
import { cursorText, readCursor } from './keyset.ts'
import { filterCondition, propertyNameOf, queryCondition, type Searched } from './filter.ts'
import { after, keyOf } from './keyset.ts'
import { orderBy, orderReader, withId, type OrderTerm } from './order.ts'
import { columnOf, type Column } from './properties.ts'
import { InvalidSearch, Refusal, refuse } from './violations.ts'

export interface SearchResource extends Searched {
  /** Tells the resource's lists from those of others, for cursors. */
  name?: string
  /** Unique and never null: it ends every order, so that pages neither overlap nor skip. */
  idColumn: Column
  /** `uid` when absent. */
  idType?: 'uid' | 'number'
  /** For requests that name no order, in the same words: `['name:iasc']`. None: by id alone. */
  defaultOrder?: readonly string[]
}

/** The parts of a select statement. */
export interface SearchPlan {
  /** To be joined by AND to the caller's own conditions; each is in brackets. */
  where: RawBuilder<SqlBool>[]
  /** Where a cursor was given: the page begins after its row. No part of what is counted. */
  after: RawBuilder<SqlBool> | undefined
  /** Never empty; ends in the id. */
  order: RawBuilder<unknown>[]
  /** What `cursorAfter` needs of a row, in this order. */
  keys: RawBuilder<string | null>[]
  limit: number
  offset: number
  /** From 1. */
  page: number
  /** Rows. */
  pageSize: number
  /** Is the total wanted? */
  counted: boolean
  /** The properties that filters look at, by name. */
  filtered: string[]
  /** Is there a `query`? */
  looksForText: boolean
  /** The cursor of what comes after a row with these keys; undefined where they are too long for one. */
  cursorAfter(keys: (string | null)[]): string | undefined
}

const defaultPageSize = 50
/** Also what is answered to those who want no pages. */
const largestPageSize = 1000
/** Rows that the database has to read and throw away. */
export const furthestOffset = 100_000

/** What a request asks of a resource, in SQL. Throws InvalidSearch with one violation per bad term. */
export function searchPlan(request: SearchRequest, resource: SearchResource): SearchPlan {
  const violations: Violation[] = []
  /** Undefined for a term that was refused, and then nothing is answered at all. */
  function read<T>(pointer: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      violations.push({ pointer, detail: error.message })
    }
  }

  const query = read('/query', () => queryCondition(request.query, resource))
  const filters = (request.filter ?? []).map((filter, index) =>
    read(`/filter/${index}`, () => filterCondition(filter, resource)),
  )
  const readOrder = orderReader(resource.properties)
  const asked = (request.order ?? []).map((term, index) => read(`/order/${index}`, () => readOrder(term)))
  const paging = read('/paging/page', () => pageOf(request.paging))
  const terms = withId(asked.length > 0 ? asked.filter(present) : defaultTerms(resource), {
    key: columnOf(resource.idColumn),
    type: resource.idType ?? 'uid',
  })
  const list = listOf(request, resource)
  const place = violations.length === 0 ? read('/paging/after', () => placeOf(request.paging, list, terms)) : undefined
  if (violations.length > 0 || !paging) throw new InvalidSearch(violations)

  const page = place?.page ?? paging.page
  return {
    where: [query, joined(filters.filter(present), request.rootJunction)].filter(present),
    after: place?.condition,
    order: terms.map(orderBy),
    keys: terms.map(keyOf),
    ...paging,
    page,
    filtered: (request.filter ?? []).map(propertyNameOf),
    looksForText: query !== undefined,
    cursorAfter: (keys) => cursorText(list, { page: page + 1, keys }),
  }
}

const defaultTerms = ({ defaultOrder = [], properties }: SearchResource): OrderTerm[] =>
  defaultOrder.map(orderReader(properties))

/** Whatever decides which rows there are and how they follow each other. */
const listOf = ({ query = '', filter = [], order, rootJunction = 'AND' }: SearchRequest, resource: SearchResource) =>
  JSON.stringify([resource.name, query.trim(), filter, rootJunction, order?.length ? order : resource.defaultOrder])

function pageOf({ page = 1, pageSize = defaultPageSize, paging = true, total = true }: PagingRequest) {
  if (!paging) return { limit: largestPageSize, offset: 0, page: 1, pageSize: largestPageSize, counted: total }
  const offset = (page - 1) * pageSize
  if (offset > furthestOffset) {
    refuse(
      `must not lie beyond row ${furthestOffset}: narrow the search, or follow the cursor of each page to the next one`,
    )
  }
  return { limit: pageSize, offset, page, pageSize, counted: total }
}

function placeOf({ after: text, page, paging }: PagingRequest, list: string, terms: readonly OrderTerm[]) {
  if (text === undefined) return undefined
  if (page !== undefined) refuse('names a place by itself: leave out page')
  if (paging === false) refuse('goes with pages only')
  const cursor = readCursor(list, text, terms.length)
  return { page: cursor.page, condition: after(terms, cursor.keys) }
}

function joined(conditions: RawBuilder<SqlBool>[], junction: 'AND' | 'OR' = 'AND'): RawBuilder<SqlBool> | undefined {
  if (conditions.length === 0) return undefined
  return sql`(${sql.join(conditions, junction === 'OR' ? sql` or ` : sql` and `)})`
}

const present = <T>(value: T | undefined): value is T => value !== undefined
