import { isExact } from './exact-json.ts'
/** A value before its type is inferred; nested values stay unchanged. */
export type RecordValue = string | number | boolean | object

/** A row: values by column path, in the order of the source. */
export type RecordRow = Map<string, RecordValue>

/** One object of a list inside of a record: a row of the group's own table. */
export interface GroupRow {
  /** The path of the group: the names of all groups from the outermost to this one. */
  groups: readonly string[]
  row: RecordRow
}

export interface FlattenedRecord {
  row: RecordRow
  groups: GroupRow[]
}

export interface FlattenOptions {
  isStoredAsJson?(path: string): boolean
  /** Whether a group is a repeat group that the system writes without a list if it has only one row. */
  isRepeatGroup?(path: string): boolean
}

/** A record that cannot be converted to rows, and the reason. */
export class BadRecord extends Error {
  readonly path: string | undefined

  constructor(reason: string, path?: string) {
    super(reason)
    this.path = path
  }
}

const maxDepth = 50
const maxGroupRows = 100_000
/** Maximum characters of a key, of a path (which names a column), and of an id (which each row of a group contains). */
const maxKeyLength = 500
const maxPathLength = 2_000
const maxIdLength = 2_000
/**
 * Maximum characters of all paths and ids of a record: with short keys and deep nesting, they are much longer than the record itself.
 */
const maxTotalNameLength = 50_000_000

/**
 * Converts a record to rows: nested objects become columns by their paths, lists of objects become rows of child tables, and
 * GeoJSON points become three columns; other lists and shapes stay JSON. `id` is unique to the record. Throws `BadRecord`.
 */
export function flatten(record: object, id: RecordValue, how: FlattenOptions = {}): FlattenedRecord {
  const groups: GroupRow[] = []
  const row: RecordRow = new Map()
  const found: CollectedRows = { rows: groups, characters: 0 }
  walk(record, { row, prefix: '', path: '', groups: [], id, root: id, depth: 0 }, found, how)
  return { row, groups }
}

interface RecordPosition {
  row: RecordRow
  /** The prefix of column names here, and of keys that repeat the path of their group. */
  prefix: string
  path: string
  groups: readonly string[]
  id: RecordValue
  root: RecordValue
  depth: number
}

interface CollectedRows {
  rows: GroupRow[]
  characters: number
}

function walk(object: object, place: RecordPosition, found: CollectedRows, how: FlattenOptions): void {
  if (place.depth > maxDepth) throw new BadRecord(`is nested deeper than ${maxDepth} levels`, place.prefix)
  for (const [key, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue
    const path = pathOf(key, place)
    countName(path, path, found)
    if (typeof value !== 'object') put(place.row, path, value as RecordValue)
    else if (isExact(value)) place.row.set(path, value)
    else if (how.isStoredAsJson?.(path)) put(place.row, path, value as object)
    else if (Array.isArray(value)) list(value, key, path, place, found, how)
    else if (how.isRepeatGroup?.(path)) list([value], key, path, place, found, how)
    else if ('type' in value && 'coordinates' in value) shape(value as GeoJsonShape, path, place.row)
    else walk(value as object, { ...place, prefix: `${path}.`, depth: place.depth + 1 }, found, how)
  }
}

function pathOf(key: string, { prefix, path }: RecordPosition): string {
  const own = withoutPath(key, path)
  // Form systems write the groups of a question, which can be many, into its key: only the last part is its own name.
  if (own.length - own.lastIndexOf('/') - 1 > maxKeyLength)
    throw new BadRecord(`has a field whose name is longer than ${maxKeyLength} characters`, key)
  if (prefix.length + own.length > maxPathLength)
    throw new BadRecord(`has a field whose path is longer than ${maxPathLength} characters`, key)
  return prefix + own
}

/** Adds the characters of the name of a column or a group row to the total. */
function countName(text: string, path: string, found: CollectedRows): void {
  found.characters += text.length
  if (found.characters > maxTotalNameLength)
    throw new BadRecord('has so many fields below each other that their names alone come to 50 MB', path)
}

/** Removes the group path that form systems write into each key: `hh/name` in the group `hh` becomes `name`. */
const withoutPath = (key: string, path: string): string =>
  path !== '' && key.startsWith(`${path}/`) ? key.slice(path.length + 1) : key

function list(
  values: unknown[],
  key: string,
  path: string,
  place: RecordPosition,
  found: CollectedRows,
  how: FlattenOptions,
): void {
  if (values.length === 0) return
  if (!values.every((value) => isRecord(value))) return put(place.row, path, values)
  const groups = [...place.groups, path]
  values.forEach((value, index) => {
    if (found.rows.length === maxGroupRows)
      throw new BadRecord(`has more than ${maxGroupRows} rows in its groups`, path)
    const id = `${idText(place.id)}/${path}[${index}]`
    if (id.length > maxIdLength)
      throw new BadRecord(`has rows in groups whose id is longer than ${maxIdLength} characters`, path)
    countName(id, path, found)
    const row: RecordRow = new Map<string, RecordValue>([
      ['_row_id', id],
      ['_parent_row_id', place.id],
      ['_root_row_id', place.root],
      ['_index', index],
    ])
    found.rows.push({ groups, row })
    const inside = { row, prefix: '', path: key, groups, id, root: place.root, depth: place.depth + 1 }
    walk(value as object, inside, found, how)
  })
}

export const idText = (id: RecordValue): string => (typeof id === 'object' ? JSON.stringify(id) : String(id))

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value)

interface GeoJsonShape {
  type: unknown
  coordinates: unknown
}

/** GeoJSON. */
function shape(value: GeoJsonShape, path: string, row: RecordRow): void {
  const { type, coordinates } = value
  if (type !== 'Point' || !Array.isArray(coordinates)) return put(row, path, value)
  const [longitude, latitude, altitude] = coordinates as unknown[]
  putPoint(row, path, { latitude, longitude, altitude })
}

/** Adds the columns of a geographic point. */
export function putPoint(row: RecordRow, path: string, point: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(point)) if (typeof value === 'number') row.set(`${path}_${name}`, value)
}

function put(row: RecordRow, path: string, value: RecordValue): void {
  if (typeof value === 'number' && !Number.isFinite(value)) return
  const text = typeof value === 'string' ? value : typeof value === 'object' ? written(value, path) : ''
  if (text.includes('\0') || (typeof value === 'object' && text.includes('\\u0000')))
    throw new BadRecord('holds the character U+0000, which no column can store', path)
  if (!text.isWellFormed() || (typeof value === 'object' && /\\ud[89a-f]/.test(text)))
    throw new BadRecord('holds half a surrogate pair, which is no character', path)
  row.set(path, value)
}

function written(value: object, path: string): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) throw new BadRecord('is nested deeper than can be written', path)
    throw error
  }
}
