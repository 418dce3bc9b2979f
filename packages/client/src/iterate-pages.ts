import type { CallInput, Operation, UntypedInput } from './operation.ts'
import type { ServiceClient } from './service-client.ts'

export interface ListPage<Item> {
  items: Item[]
  /** The number of items on all pages, if the service counted them. */
  total: number | undefined
}

type ItemOf<Result> = Result extends readonly (infer Item)[] ? Item : never
type PagedInput<Path extends string, Query, Body> =
  {} extends CallInput<Path, Query, Body>
    ? [input?: CallInput<Path, Query, Body>]
    : [input: CallInput<Path, Query, Body>]

/** The number of items per page, unless the input specifies another. The services return at most 1,000. */
const defaultPageSize = 200

/**
 * Yields the pages of a list or search, starting with the page in the input or with the first one. Requests a page only
 * when the caller asks for it.
 */
export async function* pages<Path extends string, Query, Body, Result extends readonly unknown[]>(
  client: ServiceClient,
  operation: Operation<Path, Query, Body, Result>,
  ...[input]: PagedInput<Path, Query, Body>
): AsyncGenerator<ListPage<ItemOf<Result>>, void, void> {
  const firstInput = (input ?? {}) as UntypedInput
  let pageInput: UntypedInput | undefined = withPagePosition(operation, firstInput, {})
  while (pageInput) {
    const { headers, body } = await client.send<ItemOf<Result>[]>(operation, pageInput)
    const total = headers.get('x-total-count')
    yield { items: body, total: total === null ? undefined : Number(total) }
    const nextPosition = findNextPosition(headers)
    pageInput = nextPosition && withPagePosition(operation, firstInput, nextPosition)
  }
}

/** Yields the items of a list or search, page after page. */
export async function* items<Path extends string, Query, Body, Result extends readonly unknown[]>(
  client: ServiceClient,
  operation: Operation<Path, Query, Body, Result>,
  ...input: PagedInput<Path, Query, Body>
): AsyncGenerator<ItemOf<Result>, void, void> {
  for await (const page of pages(client, operation, ...input)) yield* page.items
}

/**
 * Returns the input with another page position and the default page size. A search contains its position in the body, a
 * list in the query.
 */
function withPagePosition(
  { method }: Operation,
  { query, body, ...input }: UntypedInput,
  position: object,
): UntypedInput {
  const size = { pageSize: defaultPageSize }
  if (method === 'get') return { ...input, query: { ...size, ...(query as object), ...position } }
  const { paging, ...search } = (body ?? {}) as { paging?: object }
  return { ...input, query, body: { ...search, paging: { ...size, ...paging, ...position } } }
}

/** Returns the position of the next page: its cursor, or its number in lists without cursors. */
function findNextPosition(headers: Headers): object | undefined {
  const after = headers.get('x-next-cursor')
  if (after !== null) return { after, page: undefined }
  const page = Number(headers.get('x-page'))
  const pageCount = Number(headers.get('x-page-count'))
  const hasNext = page < pageCount || headers.get('link')?.includes('rel="next"')
  return hasNext ? { page: page + 1 } : undefined
}
