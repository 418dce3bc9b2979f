import { describeKeyRows } from '@sluice/file-formats/key-rows/describe-key-rows'
import type { KeyRows } from '../connector.ts'
import { isObjectColumn, objectKeyName } from './many-objects/combined-table.ts'
import { fetchObject, type ObjectReadContext } from './read-object.ts'
import { selectObjects } from './select-objects.ts'

/** The maximum size of an object that is downloaded again to find lines. */
const maxObjectBytes = 256 * 1024 * 1024

/**
 * Downloads the object that has the rows, and returns their positions: `lines 3 and 6 of 2024/cases.csv`. Returns
 * undefined if the object is unknown or too large.
 */
export async function describeObjectRows(
  context: ObjectReadContext,
  pattern: string,
  { keys, values, rows, precedence }: KeyRows,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { store, retryPolicy, filesDirectory, options } = context
  const { isSingle, objects } = await selectObjects({ store, key: pattern, retryPolicy }, signal)
  const object = isSingle ? objects[0] : objects.find(({ key }) => key === precedence?.get(objectKeyName))
  if (!object || object.size > maxObjectBytes) return undefined
  using localObject = await fetchObject(context, object, { log() {} }, signal)
  // The object itself does not contain the columns that identify the object of a row.
  const isInFile = (_: string, index: number) => !isObjectColumn(keys[index]!)
  const key = {
    keys: keys.filter(isInFile),
    ...(values && { values: values.filter(isInFile) }),
    ...(rows !== undefined && { rows }),
  }
  return await describeKeyRows({ path: localObject.fd, name: object.key, filesDirectory }, options, key, signal)
}
