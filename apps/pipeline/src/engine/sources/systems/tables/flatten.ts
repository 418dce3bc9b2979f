import { isExact } from './exact-numbers.ts'
/** What a cell can hold before its type is told: nested values are kept as they are. */
export type Value = string | number | boolean | object

/** A row by the paths of its columns, in the order of the source. */
export type Row = Map<string, Value>

/** One object of a list inside of a record: a row of the group's own table. */
export interface GroupRow {
  /** The groups on the way to it, by their paths below each other. */
  groups: readonly string[]
  row: Row
}

export interface Flattened {
  row: Row
  groups: GroupRow[]
}

export interface Flattening {
  /** Paths whose values stay as they are, as JSON. */
  whole?(path: string): boolean
  /** Groups that a system writes without a list where there is one row only. */
  group?(path: string): boolean
}

/** A record that cannot become rows, and what is wrong with it. */
export class BadRecord extends Error {
  readonly path: string | undefined

  constructor(reason: string, path?: string) {
    super(reason)
    this.path = path
  }
}

const deepest = 50
const mostGroupRows = 100_000
/** Characters of a key and of a path, which names a column; and of an id, which stands in each row of a group. */
const mostInKey = 500
const mostInPath = 2_000
const mostInId = 2_000
/** Characters of all paths and ids of a record: short keys and values far down come to much more than the record itself. */
const mostInNames = 50_000_000

/**
 * A record as rows: nested objects become columns by their paths, lists of objects become rows of a table of their own, points of
 * GeoJSON three columns; other lists and shapes stay JSON. `id` tells the record from all others. Throws `BadRecord`.
 */
export function flatten(record: object, id: Value, how: Flattening = {}): Flattened {
  const groups: GroupRow[] = []
  const row: Row = new Map()
  const found: Found = { rows: groups, characters: 0 }
  walk(record, { row, prefix: '', path: '', groups: [], id, root: id, depth: 0 }, found, how)
  return { row, groups }
}

interface Place {
  row: Row
  /** What is in front of the names of columns here, and of keys that repeat the path of the group that they are in. */
  prefix: string
  path: string
  groups: readonly string[]
  id: Value
  root: Value
  depth: number
}

interface Found {
  rows: GroupRow[]
  /** Of paths and ids so far. */
  characters: number
}

function walk(object: object, place: Place, found: Found, how: Flattening): void {
  if (place.depth > deepest) throw new BadRecord(`is nested deeper than ${deepest} levels`, place.prefix)
  for (const [key, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue
    const path = pathOf(key, place)
    countName(path, path, found)
    if (typeof value !== 'object') put(place.row, path, value as Value)
    else if (isExact(value)) place.row.set(path, value)
    else if (how.whole?.(path)) put(place.row, path, value as object)
    else if (Array.isArray(value)) list(value, key, path, place, found, how)
    else if (how.group?.(path)) list([value], key, path, place, found, how)
    else if ('type' in value && 'coordinates' in value) shape(value as Shape, path, place.row)
    else walk(value as object, { ...place, prefix: `${path}.`, depth: place.depth + 1 }, found, how)
  }
}

function pathOf(key: string, { prefix, path }: Place): string {
  const own = withoutPath(key, path)
  // Forms spell the groups that a question is in, which may be many: its own name is what is behind them.
  if (own.length - own.lastIndexOf('/') - 1 > mostInKey)
    throw new BadRecord(`has a field whose name is longer than ${mostInKey} characters`, key)
  if (prefix.length + own.length > mostInPath)
    throw new BadRecord(`has a field whose path is longer than ${mostInPath} characters`, key)
  return prefix + own
}

/** Counts what a column or a row of a group is called by. */
function countName(text: string, path: string, found: Found): void {
  found.characters += text.length
  if (found.characters > mostInNames)
    throw new BadRecord('has so many fields below each other that their names alone come to 50 MB', path)
}

/** Systems of forms spell the whole path in each key: `hh/name` in the group `hh` is its `name`. */
const withoutPath = (key: string, path: string): string =>
  path !== '' && key.startsWith(`${path}/`) ? key.slice(path.length + 1) : key

function list(values: unknown[], key: string, path: string, place: Place, found: Found, how: Flattening): void {
  if (values.length === 0) return
  if (!values.every((value) => isRecord(value))) return put(place.row, path, values)
  const groups = [...place.groups, path]
  values.forEach((value, index) => {
    if (found.rows.length === mostGroupRows)
      throw new BadRecord(`has more than ${mostGroupRows} rows in its groups`, path)
    const id = `${idText(place.id)}/${path}[${index}]`
    if (id.length > mostInId)
      throw new BadRecord(`has rows in groups whose id is longer than ${mostInId} characters`, path)
    countName(id, path, found)
    const row: Row = new Map<string, Value>([
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

export const idText = (id: Value): string => (typeof id === 'object' ? JSON.stringify(id) : String(id))

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value)

interface Shape {
  type: unknown
  coordinates: unknown
}

/** GeoJSON. */
function shape(value: Shape, path: string, row: Row): void {
  const { type, coordinates } = value
  if (type !== 'Point' || !Array.isArray(coordinates)) return put(row, path, value)
  const [longitude, latitude, altitude] = coordinates as unknown[]
  putPoint(row, path, { latitude, longitude, altitude })
}

/** The columns of a place on earth. */
export function putPoint(row: Row, path: string, point: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(point)) if (typeof value === 'number') row.set(`${path}_${name}`, value)
}

function put(row: Row, path: string, value: Value): void {
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
