import { isExactNumber } from '../exact-json.ts'
import { RowByteBuffer } from './row-byte-buffer.ts'

/** A value of a record before its column's type is inferred. Objects and lists are unchanged. */
export type RecordValue = string | number | boolean | object

/** Bit flags for the kinds of values in a column: texts, numbers and booleans, and objects and lists stored as JSON. */
export const TEXT_VALUE = 1
export const OTHER_VALUE = 2
export const NESTED_VALUE = 4

/** A row. A record becomes one row, and each object in its groups (lists of objects) a further row. */
export interface FlattenedRow {
  /**
   * The names of the groups from the outermost to the group of this row, joined by NUL. Empty for the record itself.
   */
  groupPath: string
  groups: readonly string[]
  /** The position of its fields in the bytes of the flattener: JSON without the braces around it. */
  from: number
  to: number
  /** Values of a kind that no accepted row has had in their column. */
  newKinds: { column: FlattenedColumn; kind: number }[]
}

/** A column that a field of a record fills. */
export interface FlattenedColumn {
  path: string
  /** Bit flags of its values in accepted rows. The receiver of the rows updates it. */
  kinds: number
}

export interface FlattenOptions {
  isStoredAsJson?(path: string): boolean
  /**
   * Returns true if an object at this path is a row of a repeat group. Some systems return a group with only one row as
   * an object instead of a list.
   */
  isRepeatGroup?(path: string): boolean
}

/** The record cannot be converted to rows. The message contains the reason. */
export class BadRecord extends Error {
  readonly path: string | undefined

  constructor(reason: string, path?: string) {
    super(reason)
    this.path = path
  }
}

const maxRecordDepth = 50
const maxGroupRows = 100_000
/**
 * The maximum characters of a field name and of a path. A path becomes a column name. An id has the limit of a path,
 * because each row of a group contains it.
 */
const maxKeyLength = 500
const maxPathLength = 2_000
const maxIdLength = 2_000
/**
 * The maximum characters of all paths and ids of a record together. In a deeply nested record with short names, they
 * are much longer than the record itself.
 */
const maxTotalNameLength = 50_000_000

/**
 * The maximum number of fields with a cached plan. Their number is unlimited if data, such as ids, is used as field
 * names.
 */
const maxPlannedFields = 20_000

/** Caches the columns for the fields of one object in a record, because most records have the same fields. */
class ObjectPlan {
  readonly fields = new Map<string, FieldPlan>()
  /** The prefix of its columns' paths, such as `address.`. */
  readonly prefix: string
  /** The path of the group, which some systems repeat in the name of each field. Empty outside groups. */
  readonly path: string
  readonly groups: readonly string[]
  readonly groupPath: string
  readonly depth: number

  constructor({ prefix, path, groups, depth }: Pick<ObjectPlan, 'prefix' | 'path' | 'groups' | 'depth'>) {
    this.prefix = prefix
    this.path = path
    this.groups = groups
    this.groupPath = groups.join('\0')
    this.depth = depth
  }
}

class FieldPlan implements FlattenedColumn {
  readonly path: string
  /** A comma, the name of the field and a colon, as JSON. */
  readonly json: Uint8Array
  kinds = 0
  /**
   * Plans for a nested object, for the objects of a list, and for a point's coordinates. Created at the first such
   * value.
   */
  object: ObjectPlan | undefined
  group: GroupPlan | undefined
  point: Record<'latitude' | 'longitude' | 'altitude', FieldPlan> | undefined

  constructor(path: string) {
    this.path = path
    this.json = Uint8Array.from(Buffer.from(`,${JSON.stringify(path)}:`))
  }
}

/** The plan for the objects of a list, and the columns that link their rows to the rows of the parent record. */
interface GroupPlan {
  object: ObjectPlan
  links: Record<'rowId' | 'parentId' | 'rootId' | 'index', FieldPlan>
}

interface RowPosition {
  row: FlattenedRow
  id: RecordValue
  rootId: RecordValue
}

/** A list of objects. Their rows are written after the row of the object that contains the list. */
interface PendingList {
  values: readonly object[]
  path: string
  plan: GroupPlan
}

/**
 * Converts records to rows. A nested object becomes columns named by its path, a list of objects becomes rows of a
 * child table, and a GeoJSON point becomes three columns. Other lists and shapes stay JSON.
 */
export class RecordFlattener {
  readonly #options: FlattenOptions
  readonly #output = new RowByteBuffer()
  #plan = createRootPlan()
  #plannedFields = 0
  #rows: FlattenedRow[] = []
  #pendingLists: PendingList[] = []
  /** Total characters of all paths and ids of the current record. */
  #nameLength = 0

  constructor(options: FlattenOptions = {}) {
    this.#options = options
  }

  /** The fields of the rows of the last record. */
  get bytes(): Buffer {
    return this.#output.bytes
  }

  /** Returns the fields of a row of the last record, as JSON without the braces around it. */
  formatFields({ from, to }: FlattenedRow): string {
    return this.bytes.toString('utf8', from, to)
  }

  /**
   * Returns the row of the record, then the rows of its groups. `id` must be unique to the record. The rows are valid
   * until the next call. Throws `BadRecord` if the record cannot be converted.
   */
  flatten(record: object, id: RecordValue): FlattenedRow[] {
    if (this.#plannedFields > maxPlannedFields) {
      this.#plan = createRootPlan()
      this.#plannedFields = 0
    }
    this.#nameLength = 0
    this.#rows = []
    this.#output.clear()
    const position = { row: this.#addRow(this.#plan), id, rootId: id }
    this.#flattenRow(record, this.#plan, position)
    return this.#rows
  }

  #addRow({ groups, groupPath }: ObjectPlan): FlattenedRow {
    const row = { groups, groupPath, from: this.#output.length, to: 0, newKinds: [] }
    this.#rows.push(row)
    return row
  }

  /** Writes a row, then the rows of the lists in it. */
  #flattenRow(object: object, plan: ObjectPlan, position: RowPosition): void {
    const { row } = position
    this.#pendingLists = []
    this.#flattenObject(object, plan, position)
    row.to = this.#output.length
    // Each field begins with a comma, and the first one must not have it.
    if (row.to > row.from) row.from += 1
    for (const list of this.#pendingLists) this.#flattenGroup(list, position)
  }

  /** Writes the fields of an object into the current row. */
  #flattenObject(object: object, plan: ObjectPlan, position: RowPosition): void {
    if (plan.depth > maxRecordDepth) throw new BadRecord(`is nested deeper than ${maxRecordDepth} levels`, plan.prefix)
    const { row } = position
    for (const key in object) {
      const value = (object as Record<string, unknown>)[key]
      if (value === null || value === undefined) continue
      const field = plan.fields.get(key) ?? this.#planField(key, plan)
      this.#addNameLength(field.path.length, field.path)
      if (typeof value !== 'object' || isExactNumber(value)) this.#putValue(row, field, value as RecordValue)
      else this.#flattenValue(value, key, field, plan, position)
    }
  }

  /** Adds the plan for a field that the object plan does not have yet. */
  #planField(key: string, plan: ObjectPlan): FieldPlan {
    const field = new FieldPlan(getColumnPath(key, plan))
    plan.fields.set(key, field)
    this.#plannedFields += 1
    return field
  }

  /** Writes an object or a list: as JSON, as rows of a group, as coordinates, or as columns of the current row. */
  #flattenValue(value: object, key: string, field: FieldPlan, plan: ObjectPlan, position: RowPosition): void {
    const { path } = field
    if (this.#options.isStoredAsJson?.(path)) this.#putJson(position.row, field, value)
    else if (Array.isArray(value)) this.#flattenList(value, key, field, plan, position.row)
    else if (this.#options.isRepeatGroup?.(path)) this.#flattenList([value], key, field, plan, position.row)
    else if ('type' in value && 'coordinates' in value) this.#putGeoJson(value as GeoJsonShape, field, position.row)
    else {
      field.object ??= new ObjectPlan({ ...plan, prefix: `${path}.`, depth: plan.depth + 1 })
      this.#flattenObject(value, field.object, position)
    }
  }

  /** Keeps a list of objects for later, because its rows follow the current row. Writes any other list as JSON. */
  #flattenList(values: unknown[], key: string, field: FieldPlan, plan: ObjectPlan, row: FlattenedRow): void {
    const { path } = field
    if (values.length === 0) return
    if (!values.every((value) => isNestedObject(value))) return this.#putJson(row, field, values)
    field.group ??= createGroupPlan(key, path, plan)
    this.#pendingLists.push({ values: values as object[], path, plan: field.group })
  }

  /** Writes the rows of a list of objects. `parent` is the row that contains the list. */
  #flattenGroup({ values, path, plan: { object, links } }: PendingList, parent: RowPosition): void {
    const { rootId } = parent
    values.forEach((value, index) => {
      if (this.#rows.length > maxGroupRows)
        throw new BadRecord(`has more than ${maxGroupRows} rows in its groups`, path)
      const id = `${formatId(parent.id)}/${path}[${index}]`
      if (id.length > maxIdLength)
        throw new BadRecord(`has rows in groups with an id longer than ${maxIdLength} characters`, path)
      this.#addNameLength(id.length, path)
      const row = this.#addRow(object)
      this.#putValue(row, links.rowId, id)
      this.#putValue(row, links.parentId, parent.id)
      this.#putValue(row, links.rootId, rootId)
      this.#putValue(row, links.index, index)
      this.#flattenRow(value, object, { row, id, rootId })
    })
  }

  /** Writes the coordinates of a GeoJSON point as columns, and any other shape as JSON. */
  #putGeoJson(shape: GeoJsonShape, field: FieldPlan, row: FlattenedRow): void {
    const { type, coordinates } = shape
    if (type !== 'Point' || !Array.isArray(coordinates)) return this.#putJson(row, field, shape)
    const { path } = field
    field.point ??= {
      latitude: new FieldPlan(`${path}_latitude`),
      longitude: new FieldPlan(`${path}_longitude`),
      altitude: new FieldPlan(`${path}_altitude`),
    }
    const [longitude, latitude, altitude] = coordinates as unknown[]
    const { point } = field
    if (typeof latitude === 'number') this.#putValue(row, point.latitude, latitude)
    if (typeof longitude === 'number') this.#putValue(row, point.longitude, longitude)
    if (typeof altitude === 'number') this.#putValue(row, point.altitude, altitude)
  }

  #putValue(row: FlattenedRow, field: FieldPlan, value: RecordValue): void {
    if (typeof value === 'string') this.#putText(row, field, value)
    else if (typeof value !== 'number') this.#putRaw(row, field, JSON.stringify(value), OTHER_VALUE)
    else if (Number.isFinite(value)) this.#putNumber(row, field, value)
  }

  #putText(row: FlattenedRow, field: FieldPlan, value: string): void {
    const output = this.#output
    output.putBytes(field.json)
    if (!output.putPlainText(value)) {
      if (escapedPattern.test(value)) assertStorable(value.includes('\0'), value.isWellFormed(), field.path)
      output.putRaw(JSON.stringify(value))
    }
    recordValueKind(row, field, TEXT_VALUE)
  }

  #putNumber(row: FlattenedRow, field: FieldPlan, value: number): void {
    const isInteger32 = value === (value | 0)
    if (!isInteger32) return this.#putRaw(row, field, String(value), OTHER_VALUE)
    this.#output.putBytes(field.json)
    this.#output.putInteger(value)
    recordValueKind(row, field, OTHER_VALUE)
  }

  #putJson(row: FlattenedRow, field: FieldPlan, value: object): void {
    const json = formatJson(value, field.path)
    const unstorableEscape = json.includes('\\u') ? unstorableEscapePattern.exec(json)?.[1] : undefined
    const hasNul = unstorableEscape === '0000'
    const isWellFormed = unstorableEscape === undefined
    assertStorable(hasNul, isWellFormed, field.path)
    this.#putRaw(row, field, json, NESTED_VALUE)
  }

  #putRaw(row: FlattenedRow, field: FieldPlan, json: string, kind: number): void {
    this.#output.putBytes(field.json)
    this.#output.putRaw(json)
    recordValueKind(row, field, kind)
  }

  /** Adds the length of a path or an id to the total. Throws `BadRecord` above the maximum. */
  #addNameLength(length: number, path: string): void {
    this.#nameLength += length
    if (this.#nameLength > maxTotalNameLength)
      throw new BadRecord('has so many nested fields that their paths exceed 50 MB', path)
  }
}

const createRootPlan = () => new ObjectPlan({ prefix: '', path: '', groups: [], depth: 0 })

/** Returns the plan for the rows of the list in field `key`. They have columns that link them to their parent rows. */
function createGroupPlan(key: string, path: string, { groups, depth }: ObjectPlan): GroupPlan {
  return {
    object: new ObjectPlan({ prefix: '', path: key, groups: [...groups, path], depth: depth + 1 }),
    links: {
      rowId: new FieldPlan('_row_id'),
      parentId: new FieldPlan('_parent_row_id'),
      rootId: new FieldPlan('_root_row_id'),
      index: new FieldPlan('_index'),
    },
  }
}

/** Returns the column path for the field `key` of an object. Throws `BadRecord` if the path is too long. */
function getColumnPath(key: string, { prefix, path }: ObjectPlan): string {
  const name = removeGroupPath(key, path)
  // Form systems include the groups of a question in its field name. Only the last part is the question's own name.
  if (name.length - name.lastIndexOf('/') - 1 > maxKeyLength)
    throw new BadRecord(`has a field with a name longer than ${maxKeyLength} characters`, key)
  if (prefix.length + name.length > maxPathLength)
    throw new BadRecord(`has a field with a path longer than ${maxPathLength} characters`, key)
  return prefix + name
}

/** Removes the group path that form systems put into each field name: `hh/name` in the group `hh` becomes `name`. */
const removeGroupPath = (key: string, path: string): string =>
  path !== '' && key.startsWith(`${path}/`) ? key.slice(path.length + 1) : key

export const formatId = (id: RecordValue): string => (typeof id === 'object' ? JSON.stringify(id) : String(id))

const isNestedObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

interface GeoJsonShape {
  type: unknown
  coordinates: unknown
}

/** Characters that JSON escapes: quotes, backslashes, control characters and lone surrogates. */
const escapedPattern = /["\\\p{Cc}\p{Cs}]/u

/** The first escape of U+0000 or of an incomplete surrogate pair. An even number of backslashes before it is text. */
const unstorableEscapePattern = /(?<!\\)(?:\\\\)*\\u(0000|d[89a-f])/

/** Throws `BadRecord` for a text that PostgreSQL and other databases cannot store. */
function assertStorable(hasNul: boolean, isWellFormed: boolean, path: string): void {
  if (hasNul) throw new BadRecord('has the character U+0000, which no column can store', path)
  if (!isWellFormed) throw new BadRecord('has an incomplete Unicode surrogate pair, which no column can store', path)
}

/** Adds the kind of a value to the row, if no accepted row has had it in this column. */
function recordValueKind({ newKinds }: FlattenedRow, column: FieldPlan, kind: number): void {
  if ((column.kinds & kind) === 0) newKinds.push({ column, kind })
}

function formatJson(value: object, path: string): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) throw new BadRecord('is nested too deeply to be stored as JSON', path)
    throw error
  }
}
