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
 * Yields the pages of a list or search, from the first page or from the one in the input. Requests each page when it is
 * needed.
 */
export async function* pages<Path extends string, Query, Body, Result extends readonly unknown[]>(
  client: ServiceClient,
  operation: Operation<Path, Query, Body, Result>,
  ...[input]: PagedInput<Path, Query, Body>
): AsyncGenerator<ListPage<ItemOf<Result>>, void, void> {
  const untypedInput = (input ?? {}) as UntypedInput
  let position: object | undefined = {}
  while (position) {
    const request = setPosition(operation, untypedInput, position)
    const { headers, body } = await client.send<ItemOf<Result>[]>(operation, request)
    const total = headers.get('x-total-count')
    yield { items: body, total: total === null ? undefined : Number(total) }
    position = readNextPosition(headers)
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

/** Returns the input for the page at a position. A search contains its position in the body, a list in the query. */
function setPosition({ method }: Operation, { query, body, ...input }: UntypedInput, position: object): UntypedInput {
  const size = { pageSize: defaultPageSize }
  if (method === 'get') return { ...input, query: { ...size, ...(query as object), ...position } }
  const { paging, ...search } = (body ?? {}) as { paging?: object }
  return { ...input, query, body: { ...search, paging: { ...size, ...paging, ...position } } }
}

/** Returns the position of the next page: its cursor, or its number in lists without cursors. */
function readNextPosition(headers: Headers): object | undefined {
  const after = headers.get('x-next-cursor')
  if (after !== null) return { after, page: undefined }
  const page = Number(headers.get('x-page'))
  const pageCount = Number(headers.get('x-page-count'))
  const hasNext = page < pageCount || headers.get('link')?.includes('rel="next"')
  return hasNext ? { page: page + 1 } : undefined
}
