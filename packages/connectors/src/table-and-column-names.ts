import { hash } from 'node:crypto'
import { toUniqueIdentifiers } from '@sluice/row-stream'

const maxNameBytes = 63
const pathHashDigits = 8
/** The bytes of the suffix that `addPathHash` adds: an underscore and the digits. */
const pathHashSuffixBytes = 1 + pathHashDigits
/**
 * The name of a long path counts as truncated if it is at most this many bytes below the maximum, because truncation
 * also removes parts of a split character and trailing underscores.
 */
const truncationToleranceBytes = 8

/**
 * Columns that identify the rows of a group table and link them to their parent rows. A group is a list of objects
 * inside a record.
 */
export const groupColumns = ['_row_id', '_parent_row_id', '_root_row_id', '_index'] as const

/**
 * Returns a unique column name in snake_case for each path: `demo_age` for `demo/age`. A leading `_` stays. A name ends
 * with eight digits of the path's hash if it was truncated, or if several paths would have the same name. The path that
 * is itself that name gets no hash. The hash makes each name independent of the order of the paths.
 */
export function createColumnNames(paths: readonly string[]): string[] {
  const namesWithoutHash = paths.map(toIdentifier)
  const pathCounts = new Map<string, number>()
  for (const name of namesWithoutHash) pathCounts.set(name, (pathCounts.get(name) ?? 0) + 1)
  return paths.map((path, index) => {
    const name = namesWithoutHash[index]!
    const isSharedName = pathCounts.get(name)! > 1
    const needsHash = isTruncated(path) || (isSharedName && path !== name)
    return needsHash ? addPathHash(name, path) : name
  })
}

/** Returns the name of a group table: `target` and the names of the groups, separated by two underscores. */
export function createTableName(target: string, groups: readonly string[]): string {
  const fullName = [target, ...groups.map(toIdentifier)].join('__')
  return Buffer.byteLength(fullName) <= maxNameBytes ? fullName : addPathHash(fullName, [target, ...groups].join('\0'))
}

function toIdentifier(path: string): string {
  const [name] = toUniqueIdentifiers([path])
  const leadingUnderscore = path.startsWith('_') && !name!.startsWith('_') ? '_' : ''
  return truncateBytes(`${leadingUnderscore}${name}`, maxNameBytes)
}

const isTruncated = (path: string): boolean =>
  Buffer.byteLength(path) > maxNameBytes - 1 &&
  Buffer.byteLength(toIdentifier(path)) > maxNameBytes - truncationToleranceBytes

const addPathHash = (name: string, path: string): string =>
  `${truncateBytes(name, maxNameBytes - pathHashSuffixBytes)}_${hash('sha256', path).slice(0, pathHashDigits)}`

/** Truncates a name to this many UTF-8 bytes without splitting a character. */
function truncateBytes(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  let truncatedText = ''
  for (const character of name) {
    if (Buffer.byteLength(truncatedText + character) > bytes) break
    truncatedText += character
  }
  return truncatedText.replace(/_+$/, '')
}
