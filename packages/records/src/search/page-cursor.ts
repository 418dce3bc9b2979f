import { problems } from '@sluice/http-server'
import { type PageCursor, parseCursor } from './keyset.ts'
import { InvalidTerm } from './invalid-search.ts'

/**
 * Returns the position in a cursor, for lists without a search plan, or undefined if the request has no cursor. `keys`
 * has a pattern to validate each key, because a cursor is not signed. Throws 400 for the cursor of another list.
 */
export function readCursor(
  list: string,
  text: string | undefined,
  keys: readonly RegExp[],
): (PageCursor & { keys: string[] }) | undefined {
  if (text === undefined) return undefined
  const { page, keys: values } = parseForProblem(() => parseCursor(list, text, keys.length))
  const areValid = keys.every((pattern, index) => pattern.test(values[index] ?? ''))
  if (!areValid) throw invalidCursor('contains an invalid value')
  return { page, keys: values.map(String) }
}

/** Runs `parse` and converts its `InvalidTerm` to a 400 problem. */
function parseForProblem(parse: () => PageCursor): PageCursor {
  try {
    return parse()
  } catch (error) {
    throw error instanceof InvalidTerm ? invalidCursor(error.message) : error
  }
}

const invalidCursor = (detail: string) => problems.malformed([{ pointer: '/after', detail }])
