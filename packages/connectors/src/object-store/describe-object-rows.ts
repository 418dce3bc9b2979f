import { describeKeyRows } from '@sluice/file-formats/key-rows/describe-key-rows'
import type { KeyRows } from '../connector.ts'
import { isOwnColumn, objectKeyName } from './many-objects/combined-table.ts'
import { fetchObject, type ObjectReading } from './read-object.ts'
import { selectObjects } from './select-objects.ts'

/** Larger objects are not downloaded again only to find lines. */
const maxObjectBytes = 256 * 1024 * 1024

/**
 * Downloads the object that has the rows, and returns their positions: `lines 3 and 6 of 2024/cases.csv`. Returns
 * undefined if the object is unknown or too large.
 */
export async function describeObjectRows(
  reading: ObjectReading,
  pattern: string,
  { keys, values, rows, precedence }: KeyRows,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { store, retryPolicy, filesDirectory, options } = reading
  const { isSingle, objects } = await selectObjects({ store, key: pattern, retryPolicy }, signal)
  const object = isSingle ? objects[0] : objects.find(({ key }) => key === precedence?.get(objectKeyName))
  if (!object || object.size > maxObjectBytes) return undefined
  using localObject = await fetchObject(reading, object, { log() {} }, signal)
  const isKeyOfObject = keys.map((name) => !isOwnColumn(name))
  const key = {
    keys: keys.filter((_, index) => isKeyOfObject[index]),
    ...(values && { values: values.filter((_, index) => isKeyOfObject[index]) }),
    ...(rows !== undefined && { rows }),
  }
  return await describeKeyRows({ path: localObject.fd, name: object.key, filesDirectory }, options, key, signal)
}
