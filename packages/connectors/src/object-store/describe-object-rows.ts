import { retry } from '@sluice/http-client'
import { describeKeyRows } from '@sluice/file-formats/key-rows/describe-rows-by-key'
import type { KeyRows } from '../connector.ts'
import { compileKeyPattern } from './object-key-pattern.ts'
import { isObjectColumn, objectKeyName } from './many-objects/combined-table.ts'
import { fetchObject, type ObjectReadContext } from './read-object.ts'

/** The maximum size of an object that is downloaded again to find lines. */
const maxObjectBytes = 256 * 1024 * 1024

/**
 * Downloads the object that has the rows, and returns their positions: `lines 3 and 6 of 2024/cases.csv`. Returns
 * undefined if the object is unknown or too large. Throws an error of the store if the object no longer exists.
 */
export async function describeObjectRows(
  context: ObjectReadContext,
  pattern: string,
  { keys, values, rows, precedence }: KeyRows,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { store, retryPolicy, filesDirectory, options } = context
  // In a table of several objects, each row contains the key of its object.
  const objectKey = compileKeyPattern(pattern).singleKey ?? precedence?.get(objectKeyName)
  if (objectKey === undefined) return undefined
  const object = await retry(() => store.find(objectKey, signal), { policy: retryPolicy, signal })
  if (object.size > maxObjectBytes) return undefined
  using localObject = await fetchObject(context, object, { log() {} }, signal)
  // The file does not contain the columns that identify the object of a row.
  const isFileColumn = keys.map((name) => !isObjectColumn(name))
  const keyInFile = {
    keys: keys.filter((_, index) => isFileColumn[index]),
    ...(values && { values: values.filter((_, index) => isFileColumn[index]) }),
    ...(rows !== undefined && { rows }),
  }
  return await describeKeyRows({ path: localObject.fd, name: object.key, filesDirectory }, options, keyInFile, signal)
}
