import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { PagingRequest, SearchRequest, Violation } from '@sluice/contracts'
import { filterCondition, queryCondition, type Searched } from './filter.ts'
import { orderReader } from './order.ts'
import { columnOf, type Column } from './properties.ts'
import { InvalidSearch, Refusal, refuse } from './violations.ts'

export interface SearchResource extends Searched {
  /** Unique and never null: it ends every order, so that pages neither overlap nor skip. */
  idColumn: Column
  /** For requests that name no order, in the same words: `['name:iasc']`. None: by id alone. */
  defaultOrder?: readonly string[]
}

/** The parts of a select statement. */
export interface SearchPlan {
  /** To be joined by AND to the caller's own conditions; each is in brackets. */
  where: RawBuilder<SqlBool>[]
  /** Never empty; ends in the id, ascending. */
  order: RawBuilder<unknown>[]
  limit: number
  offset: number
  /** From 1. */
  page: number
  /** Rows. */
  pageSize: number
  /** Is the total wanted? */
  counted: boolean
}

const defaultPageSize = 50
/** Also what is answered to those who want no pages. */
const largestPageSize = 1000
/** Rows that the database has to read and throw away. */
const furthestOffset = 100_000

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
  const order = (request.order ?? []).map((term, index) => read(`/order/${index}`, () => readOrder(term)))
  const paging = read('/paging/page', () => pageOf(request.paging))
  if (violations.length > 0 || !paging) throw new InvalidSearch(violations)

  const terms =
    order.length > 0 ? order.filter(present) : (resource.defaultOrder ?? []).map(orderReader(resource.properties))
  return {
    where: [query, joined(filters.filter(present), request.rootJunction)].filter(present),
    order: [...terms, sql`${columnOf(resource.idColumn)} asc`],
    ...paging,
  }
}

function pageOf({ page = 1, pageSize = defaultPageSize, paging = true, total = true }: PagingRequest) {
  if (!paging) return { limit: largestPageSize, offset: 0, page: 1, pageSize: largestPageSize, counted: total }
  const offset = (page - 1) * pageSize
  if (offset > furthestOffset) {
    refuse(
      `must not lie beyond row ${furthestOffset}: narrow the search, or go on after the last id that you have with filter=id:gt:<last>&order=id:asc`,
    )
  }
  return { limit: pageSize, offset, page, pageSize, counted: total }
}

function joined(conditions: RawBuilder<SqlBool>[], junction: 'AND' | 'OR' = 'AND'): RawBuilder<SqlBool> | undefined {
  if (conditions.length === 0) return undefined
  return sql`(${sql.join(conditions, junction === 'OR' ? sql` or ` : sql` and `)})`
}

const present = <T>(value: T | undefined): value is T => value !== undefined
