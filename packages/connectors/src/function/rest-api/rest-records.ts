import { SourceProblem } from '@sluice/row-stream'
import { findAtPath, listArrayPaths } from './json-path.ts'

/**
 * Returns the list of records in a response. Null counts as an empty list. Throws `SourceProblem` if the response has
 * no list at the expected path.
 */
export function readRecords(
  response: unknown,
  path: string | undefined,
  redactText: (text: string) => string,
): readonly unknown[] {
  const list = path === undefined ? response : findAtPath(response, path)
  if (Array.isArray(list)) return list as unknown[]
  if (list === null && path !== undefined) return []
  throw createNoRecordsProblem(response, path, redactText)
}

export const createProtocolProblem = (message: string): SourceProblem => new SourceProblem('OTHER_PROTOCOL', message)

/** Returns the problem for a response without the list of records. It names the lists that the response contains. */
function createNoRecordsProblem(
  response: unknown,
  path: string | undefined,
  redactText: (text: string) => string,
): SourceProblem {
  const missingText = path === undefined ? 'is not a list' : `has no list under "${path}" (restApi.records)`
  if (path !== undefined && Array.isArray(response))
    return createProtocolProblem(
      `The response ${missingText}. The response itself is a list: leave out restApi.records.`,
    )
  const paths = listArrayPaths(response).slice(0, 5)
  const advice =
    paths.length === 0
      ? 'The response has no list at all: check the address, the path and the query.'
      : `Set restApi.records to the path of its records: ${redactText(paths.map((name) => `"${name}"`).join(', '))}.`
  return createProtocolProblem(`The response ${missingText}. ${advice}`)
}
