import { Type } from 'typebox'
import { closed, contract, type TypeOf } from './contract.ts'

const Filter = Type.String({
  minLength: 1,
  maxLength: 20_000,
  description: 'property:operator[:value]',
  examples: ['name:ilike:air'],
})
const Order = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'property[:asc|desc|iasc|idesc]',
  examples: ['name:iasc'],
})
const Page = Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })
const After = Type.String({
  maxLength: 2000,
  description:
    'Begin after this place: the cursor of the page before (X-Next-Cursor), with the same filters and order.',
})
const PageSize = Type.Integer({ minimum: 1, maximum: 1000, default: 50 })

const search = {
  query: Type.Optional(Type.String({ maxLength: 200 })),
  filter: Type.Optional(Type.Array(Filter, { maxItems: 20 })),
  order: Type.Optional(Type.Array(Order, { maxItems: 5 })),
  rootJunction: Type.Optional(Type.Enum(['AND', 'OR'])),
}

export const PagingRequest = contract(
  'PagingRequest',
  Type.Object(
    {
      page: Type.Optional(Page),
      pageSize: Type.Optional(PageSize),
      after: Type.Optional(After),
      paging: Type.Optional(Type.Boolean({ description: 'false: the first 1,000 rows as one page.' })),
      total: Type.Optional(Type.Boolean({ description: 'false: do not count.' })),
    },
    closed,
  ),
)
export type PagingRequest = TypeOf<typeof PagingRequest>

/** The body of a search operation. */
export const SearchRequest = contract('SearchRequest', Type.Object({ ...search, paging: PagingRequest }, closed))
export type SearchRequest = TypeOf<typeof SearchRequest>

const Locale = Type.String({ maxLength: 35, examples: ['fr'] })

/** What an operation without parameters of its own takes: the language of display names. */
export const PlainQuery = contract('PlainQuery', Type.Object({ locale: Type.Optional(Locale) }, closed))

/** The body of an operation that takes no fields. */
export const NoFields = contract('NoFields', Type.Object({}, closed))

/** The same search as query parameters. */
export const ListQuery = contract(
  'ListQuery',
  Type.Object(
    {
      ...search,
      page: Type.Optional(Page),
      pageSize: Type.Optional(PageSize),
      after: Type.Optional(After),
      paging: Type.Optional(Type.Boolean()),
      total: Type.Optional(Type.Boolean()),
      locale: Type.Optional(Locale),
    },
    closed,
  ),
)
export type ListQuery = TypeOf<typeof ListQuery>

/** The query parameters of a list, as the search they stand for. */
export function searchOf({ page, pageSize, after, paging, total, locale: _locale, ...rest }: ListQuery): SearchRequest {
  return { ...rest, paging: { page, pageSize, after, paging, total } }
}
