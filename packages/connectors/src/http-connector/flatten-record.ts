import { isExactNumber } from './exact-json.ts'

/** A value of a record, before the type of its column is inferred. Objects and lists are unchanged. */
export type RecordValue = string | number | boolean | object

/** The values of a row by column path, in the order of the record. */
export type RecordRow = Map<string, RecordValue>

/** A row of a group: one object of a list in a record. Each group becomes a child table. */
export interface GroupRow {
  /** Names of the groups from the outermost to this one. */
  groups: readonly string[]
  row: RecordRow
}

export interface FlattenedRecord {
  row: RecordRow
  groups: GroupRow[]
}

export interface FlattenOptions {
  isStoredAsJson?(path: string): boolean
  /** Whether an object at this path is a row of a repeat group, which the system returns without a list if it has only one row. */
  isRepeatGroup?(path: string): boolean
}

/** The record cannot be converted to rows, for the reason in the message. */
export class BadRecord extends Error {
  readonly path: string | undefined

  constructor(reason: string, path?: string) {
    super(reason)
    this.path = path
  }
}

const maxRecordDepth = 50
const maxGroupRows = 100_000
/** Maximum characters of a field name, of a path, which becomes a column name, and of an id, which each row of a group contains. */
const maxKeyLength = 500
const maxPathLength = 2_000
const maxIdLength = 2_000
/** Maximum characters of all paths and ids of a record. In a deeply nested record with short names, they are much longer than the record. */
const maxTotalNameLength = 50_000_000

/**
 * Converts a record to rows. Nested objects become columns named by their paths, lists of objects become rows of child tables, and GeoJSON points
 * become three columns. Other lists and shapes stay JSON. `id` must be unique to the record. Throws `BadRecord`.
 */
export function flattenRecord(record: object, id: RecordValue, options: FlattenOptions = {}): FlattenedRecord {
  const row: RecordRow = new Map()
  const state: FlattenState = { options, groupRows: [], nameLength: 0 }
  flattenObject(record, { row, prefix: '', path: '', groups: [], id, rootId: id, depth: 0 }, state)
  return { row, groups: state.groupRows }
}

interface FlattenPosition {
  row: RecordRow
  /** The prefix of the paths of columns, such as `address.`. */
  prefix: string
  /** The path of the group, which some systems repeat in the name of each field. Empty outside of groups. */
  path: string
  groups: readonly string[]
  id: RecordValue
  rootId: RecordValue
  depth: number
}

interface FlattenState {
  options: FlattenOptions
  groupRows: GroupRow[]
  /** Total characters of all paths and ids so far. */
  nameLength: number
}

function flattenObject(object: object, position: FlattenPosition, flattening: FlattenState): void {
  const { row, prefix, depth } = position
  const { options } = flattening
  if (depth > maxRecordDepth) throw new BadRecord(`is nested deeper than ${maxRecordDepth} levels`, prefix)
  for (const [key, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue
    const path = getColumnPath(key, position)
    addNameLength(path, path, flattening)
    if (typeof value !== 'object') setValue(row, path, value as RecordValue)
    else if (isExactNumber(value)) row.set(path, value)
    else if (options.isStoredAsJson?.(path)) setValue(row, path, value as object)
    else if (Array.isArray(value)) flattenList(value, key, path, position, flattening)
    else if (options.isRepeatGroup?.(path)) flattenList([value], key, path, position, flattening)
    else if ('type' in value && 'coordinates' in value) setGeoJson(value as GeoJsonShape, path, row)
    else flattenObject(value as object, { ...position, prefix: `${path}.`, depth: depth + 1 }, flattening)
  }
}

function getColumnPath(key: string, { prefix, path }: FlattenPosition): string {
  const name = removeGroupPath(key, path)
  // Form systems put the groups of a question into its field name. Only the last part is the question's own name.
  if (name.length - name.lastIndexOf('/') - 1 > maxKeyLength)
    throw new BadRecord(`has a field with a name longer than ${maxKeyLength} characters`, key)
  if (prefix.length + name.length > maxPathLength)
    throw new BadRecord(`has a field with a path longer than ${maxPathLength} characters`, key)
  return prefix + name
}

/** Adds the length of a path or an id to the total. Throws `BadRecord` above the maximum. */
function addNameLength(name: string, path: string, flattening: FlattenState): void {
  flattening.nameLength += name.length
  if (flattening.nameLength > maxTotalNameLength)
    throw new BadRecord('has so many nested fields that their paths exceed 50 MB', path)
}

/** Removes the group path that form systems put into each field name: `hh/name` in the group `hh` becomes `name`. */
const removeGroupPath = (key: string, path: string): string =>
  path !== '' && key.startsWith(`${path}/`) ? key.slice(path.length + 1) : key

function flattenList(
  values: unknown[],
  key: string,
  path: string,
  position: FlattenPosition,
  flattening: FlattenState,
): void {
  if (values.length === 0) return
  if (!values.every((value) => isNestedObject(value))) return setValue(position.row, path, values)
  const groups = [...position.groups, path]
  values.forEach((value, index) => {
    if (flattening.groupRows.length === maxGroupRows)
      throw new BadRecord(`has more than ${maxGroupRows} rows in its groups`, path)
    const id = `${formatId(position.id)}/${path}[${index}]`
    if (id.length > maxIdLength)
      throw new BadRecord(`has rows in groups with an id longer than ${maxIdLength} characters`, path)
    addNameLength(id, path, flattening)
    const row: RecordRow = new Map<string, RecordValue>([
      ['_row_id', id],
      ['_parent_row_id', position.id],
      ['_root_row_id', position.rootId],
      ['_index', index],
    ])
    flattening.groupRows.push({ groups, row })
    const { rootId, depth } = position
    flattenObject(value as object, { row, prefix: '', path: key, groups, id, rootId, depth: depth + 1 }, flattening)
  })
}

export const formatId = (id: RecordValue): string => (typeof id === 'object' ? JSON.stringify(id) : String(id))

const isNestedObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

interface GeoJsonShape {
  type: unknown
  coordinates: unknown
}

function setGeoJson(shape: GeoJsonShape, path: string, row: RecordRow): void {
  const { type, coordinates } = shape
  if (type !== 'Point' || !Array.isArray(coordinates)) return setValue(row, path, shape)
  const [longitude, latitude, altitude] = coordinates as unknown[]
  for (const [name, value] of Object.entries({ latitude, longitude, altitude }))
    if (typeof value === 'number') row.set(`${path}_${name}`, value)
}

function setValue(row: RecordRow, path: string, value: RecordValue): void {
  if (typeof value === 'number' && !Number.isFinite(value)) return
  const text = typeof value === 'string' ? value : typeof value === 'object' ? formatJson(value, path) : ''
  if (text.includes('\0') || (typeof value === 'object' && text.includes('\\u0000')))
    throw new BadRecord('has the character U+0000, which no column can store', path)
  if (!text.isWellFormed() || (typeof value === 'object' && /\\ud[89a-f]/.test(text)))
    throw new BadRecord('has an incomplete Unicode surrogate pair, which no column can store', path)
  row.set(path, value)
}

function formatJson(value: object, path: string): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) throw new BadRecord('is nested too deeply to be stored as JSON', path)
    throw error
  }
}
