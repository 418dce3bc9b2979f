import { Type } from 'typebox'
import { type TypeOf, noUnknownFields, defineContract } from './contract.ts'

const FilterExpression = Type.String({
  minLength: 1,
  maxLength: 20_000,
  description: 'property:operator[:value]',
  examples: ['name:ilike:air'],
})
const SortOrder = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'property[:asc|desc|iasc|idesc]',
  examples: ['name:iasc'],
})
const PageNumber = Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })
const PageCursor = Type.String({
  maxLength: 2000,
  description: 'The cursor of the previous page, from its header X-Next-Cursor. Filters and order must stay the same.',
})
const PageSize = Type.Integer({ minimum: 1, maximum: 1000, default: 50 })

const searchFields = {
  query: Type.Optional(Type.String({ maxLength: 200 })),
  filter: Type.Optional(Type.Array(FilterExpression, { maxItems: 20 })),
  order: Type.Optional(Type.Array(SortOrder, { maxItems: 5 })),
  rootJunction: Type.Optional(Type.Enum(['AND', 'OR'])),
}

export const PagingRequest = defineContract(
  'PagingRequest',
  Type.Object(
    {
      page: Type.Optional(PageNumber),
      pageSize: Type.Optional(PageSize),
      after: Type.Optional(PageCursor),
      paging: Type.Optional(Type.Boolean({ description: 'false returns the first 1,000 rows as one page.' })),
      total: Type.Optional(Type.Boolean({ description: 'false omits the totals, which saves time.' })),
    },
    noUnknownFields,
  ),
)

export type PagingRequest = TypeOf<typeof PagingRequest>

export const SearchRequest = defineContract(
  'SearchRequest',
  Type.Object({ ...searchFields, paging: PagingRequest }, noUnknownFields),
)

export type SearchRequest = TypeOf<typeof SearchRequest>

const LocaleTag = Type.String({ maxLength: 35, examples: ['fr'] })

/** The query of an operation without parameters other than the language of display names. */
export const PlainQuery = defineContract(
  'PlainQuery',
  Type.Object({ locale: Type.Optional(LocaleTag) }, noUnknownFields),
)

/** The body of an operation that accepts no fields. */
export const NoFields = defineContract('NoFields', Type.Object({}, noUnknownFields))

export const ListQuery = defineContract(
  'ListQuery',
  Type.Object(
    {
      ...searchFields,
      page: Type.Optional(PageNumber),
      pageSize: Type.Optional(PageSize),
      after: Type.Optional(PageCursor),
      paging: Type.Optional(Type.Boolean()),
      total: Type.Optional(Type.Boolean()),
      locale: Type.Optional(LocaleTag),
    },
    noUnknownFields,
  ),
)

export type ListQuery = TypeOf<typeof ListQuery>

/**
 * Converts the query parameters of a list request to a search request, which has the paging parameters in one object.
 * Omits `locale`, which does not affect which objects are found.
 */
export function toSearchRequest({
  page,
  pageSize,
  after,
  paging,
  total,
  locale: _locale,
  ...filters
}: ListQuery): SearchRequest {
  return { ...filters, paging: { page, pageSize, after, paging, total } }
}

/** A short guide to searching lists, in Markdown, for the API reference. docs/search.md is the full guide. */
export const searchGuide = `**Lists** take the same search as query parameters and, if the operation exists, as the body of \`…/search\`:

- \`filter=property:operator:value\`, repeatable; all must hold, or one with \`rootJunction=OR\`. \`eq\`, \`ne\`, \`in:[a,b]\`, \`!in:[a,b]\`, \`null\`, \`!null\`
  apply to everything; \`gt\`, \`ge\`, \`lt\`, \`le\` to numbers, times and ids; \`ieq\`, \`like\`, \`ilike\` (contains), \`$ilike\` (starts with), \`ilike$\` (ends
  with), \`token\` (all words) to text, each also negated by \`!\`, except \`ieq\`; \`empty\`, \`!empty\` to text and lists.
- \`order=property:asc\`, \`desc\`, and for text \`iasc\`, \`idesc\`; \`query\`: a part of a name, username, code or similar text.
- \`page\`, \`pageSize\` (50, at most 1,000), or \`after\` with the \`X-Next-Cursor\` of the previous page. Totals are in \`X-Total-Count\`. In a body these are
  inside the required object \`paging\`: \`{"paging": {}}\`.

A rejected filter returns the valid options: \`filter=x:null\` returns all properties of a list. docs/search.md is the full guide.`
