import { hash } from 'node:crypto'
import { identifiers } from '@sluice/row-stream'

const maxNameBytes = 63

/** Columns that identify the rows of groups and link them to their parents. */
export const groupColumns = ['_row_id', '_parent_row_id', '_root_row_id', '_index'] as const

/**
 * Returns the column names of paths in the source: snake_case, parts joined by `_`, a leading `_` kept. A truncated name, or
 * a name of two paths, ends in eight digits of its path's hash, because the name must not depend on the order of the paths.
 * If one of the two paths is spelled like the name, it keeps the name.
 */
export function columnNames(paths: readonly string[]): string[] {
  const plain = paths.map(nameOf)
  const times = new Map<string, number>()
  for (const name of plain) times.set(name, (times.get(name) ?? 0) + 1)
  return plain.map((name, index) => {
    const path = paths[index]!
    const clashes = times.get(name)! > 1 && path !== name
    return clashes || isCut(path) ? withHash(name, path) : name
  })
}

/** Returns `target` followed by the groups of the path, each after two underscores. */
export function tableName(target: string, groups: readonly string[]): string {
  const whole = [target, ...groups.map(nameOf)].join('__')
  return Buffer.byteLength(whole) <= maxNameBytes ? whole : withHash(whole, [target, ...groups].join('\0'))
}

function nameOf(path: string): string {
  const [name] = identifiers([path])
  const leading = path.startsWith('_') && !name!.startsWith('_') ? '_' : ''
  return truncateBytes(`${leading}${name}`, maxNameBytes)
}

const isCut = (path: string): boolean =>
  Buffer.byteLength(path) > maxNameBytes - 1 && Buffer.byteLength(nameOf(path)) > maxNameBytes - 8

const withHash = (name: string, path: string): string =>
  `${truncateBytes(name, maxNameBytes - 9)}_${hash('sha256', path).slice(0, 8)}`

/** Truncates between characters. */
function truncateBytes(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  let kept = ''
  for (const character of name) {
    if (Buffer.byteLength(kept + character) > bytes) break
    kept += character
  }
  return kept.replace(/_+$/, '')
}
