import type { DataType } from '@sluice/contracts'
import { type Column, toUniqueIdentifiers, maxColumns, type VectorKind } from '@sluice/row-stream'
import { type FileMetaData, parquetSchema, type ParquetType, type SchemaElement, type SchemaTree } from 'hyparquet'
import { damagedFileProblem, FileProblem } from './file-problems.ts'
import { maxDepth } from './limits.ts'

/** A node of the schema of a column. The levels are Dremel's. */
export interface SchemaNode {
  name: string
  shape: 'leaf' | 'group' | 'list' | 'map'
  isOptional: boolean
  isRepeated: boolean
  definitionLevel: number
  repetitionLevel: number
  children: SchemaNode[]
  leaf?: SchemaLeaf
  /** All leaf columns below the node, in file order. */
  leaves: SchemaLeaf[]
}

export interface SchemaLeaf {
  /** The index of the leaf's column chunk in a row group. */
  index: number
  path: string
  type: LeafType
  maxDefinition: number
  maxRepetition: number
}

/** One column of the table: either a single leaf, or a nested tree that becomes JSON. */
export interface ParquetColumn {
  column: Column
  node: SchemaNode
}

/**
 * Returns the columns of the table: one for each child of the schema's root. Throws FileProblem if the schema is
 * damaged or not supported.
 */
export function readSchema(metadata: FileMetaData): ParquetColumn[] {
  const root = buildSchemaTree(metadata)
  const counter = { leaves: 0 }
  const nodes = root.children.map((child) => buildNode(child, { definition: 0, repetition: 0, depth: 1 }, counter))
  if (nodes.length === 0) throw new FileProblem('FILE_EMPTY', 'has no columns. Upload a file with data.')
  if (nodes.length > maxColumns) {
    throw new FileProblem(
      'PARQUET_NOT_SUPPORTED',
      `has ${nodes.length} columns; a table has at most ${maxColumns}. Leave some out.`,
    )
  }
  const names = toUniqueIdentifiers(nodes.map(({ name }) => name))
  return nodes.map((node, index) => ({
    node,
    column: { name: names[index]!, label: node.name, ...columnType(node) },
  }))
}

/** True if a column is a single leaf and is not repeated. Such a column has exactly one entry for each row. */
export function isFlat(node: SchemaNode): node is SchemaNode & { leaf: SchemaLeaf } {
  return node.leaf !== undefined && !node.isRepeated
}

function columnType(node: SchemaNode): Pick<Column, 'dataType' | 'precision' | 'scale'> {
  if (!isFlat(node)) return { dataType: 'JSONB' }
  const { dataType, precision, scale } = node.leaf.type
  return { dataType, ...(precision !== undefined && { precision }), ...(scale !== undefined && { scale }) }
}

function buildSchemaTree(metadata: FileMetaData): SchemaTree {
  try {
    return parquetSchema(metadata)
  } catch (cause) {
    throw damagedFileProblem('its schema', cause)
  }
}

interface NestingLevels {
  definition: number
  repetition: number
  depth: number
}

/** Returns the node of a schema element with its descendants. `counter.leaves` is the index of the next leaf. */
function buildNode(tree: SchemaTree, parentLevels: NestingLevels, counter: { leaves: number }): SchemaNode {
  const { element, children, path } = tree
  const isRepeated = element.repetition_type === 'REPEATED'
  const isOptional = element.repetition_type === 'OPTIONAL'
  const levels = {
    definition: parentLevels.definition + (isRepeated || isOptional ? 1 : 0),
    repetition: parentLevels.repetition + (isRepeated ? 1 : 0),
    depth: parentLevels.depth + 1,
  }
  if (levels.depth > maxDepth) {
    throw new FileProblem('PARQUET_NOT_SUPPORTED', `nests groups deeper than ${maxDepth}. Write it flatter.`)
  }
  const commonFields = {
    name: element.name,
    isOptional,
    isRepeated,
    definitionLevel: levels.definition,
    repetitionLevel: levels.repetition,
  }
  if (children.length === 0 && element.type !== undefined) {
    const leaf: SchemaLeaf = {
      index: counter.leaves++,
      path: path.join('.'),
      type: readLeafType(element, path.join('.')),
      maxDefinition: levels.definition,
      maxRepetition: levels.repetition,
    }
    return { ...commonFields, shape: 'leaf', children: [], leaf, leaves: [leaf] }
  }
  if (element.logical_type?.type === 'VARIANT') {
    throw new FileProblem(
      'PARQUET_NOT_SUPPORTED',
      `cannot be read: column "${path.join('.')}" is a VARIANT. Write it as text or JSON.`,
    )
  }
  const childNodes = children.map((child) => buildNode(child, levels, counter))
  const leaves = childNodes.flatMap((childNode) => childNode.leaves)
  if (leaves.length === 0) throw damagedFileProblem(`column "${path.join('.')}", an empty group,`)
  return { ...commonFields, shape: chooseGroupShape(tree, childNodes), children: childNodes, leaves }
}

/**
 * Returns `list` or `map` if a group is annotated so and its only child is repeated, as in the files of old and new
 * writers. Returns `group` for every other group.
 */
function chooseGroupShape({ element }: SchemaTree, childNodes: SchemaNode[]): SchemaNode['shape'] {
  const { converted_type: convertedType, logical_type: logicalType } = element
  const [child] = childNodes
  if (!child?.isRepeated || childNodes.length > 1) return 'group'
  if (logicalType?.type === 'LIST' || convertedType === 'LIST') return 'list'
  const isAnnotatedAsMap = logicalType?.type === 'MAP' || convertedType?.startsWith('MAP')
  const isKeyValueGroup = child.children.length <= 2 && !child.leaf
  return isAnnotatedAsMap && isKeyValueGroup ? 'map' : 'group'
}

/**
 * Returns the repeated node of a list and the node of its elements. Files of old writers lack the middle one of the
 * three levels, so the repeated node itself is the element; `element` is then undefined. The rules are in Parquet's
 * LogicalTypes.md, "Lists".
 */
export function findListElement(list: SchemaNode): { repeated: SchemaNode; element?: SchemaNode } {
  const repeated = list.children[0]!
  const [child] = repeated.children
  if (!child || repeated.children.length > 1 || child.isRepeated) return { repeated }
  const isNamedByOldWriter = repeated.name === 'array' || repeated.name === `${list.name}_tuple`
  return isNamedByOldWriter ? { repeated } : { repeated, element: child }
}

/** The interpretation of the bytes of a leaf's values, in PLAIN encoding. */
export type ValueFormat =
  | { name: 'boolean' }
  | { name: 'int32' | 'uint32' }
  /** A 32-bit integer with an annotation that allows only the values from `min` to `max`. */
  | { name: 'small-int'; min: number; max: number }
  | { name: 'int64' | 'float16' | 'float' | 'double' | 'date' | 'int96' }
  /** Unscaled integers of at most `maxDigits` digits. */
  | { name: 'decimal32' | 'decimal64' | 'unsigned64' | 'decimal-bytes'; maxDigits: number }
  | { name: 'timestamp'; unitsPerSecond: 1_000 | 1_000_000 | 1_000_000_000 }
  | { name: 'time'; nanosecondsPerUnit: 1 | 1_000 | 1_000_000; is64Bit: boolean }
  | { name: 'text' | 'json' | 'uuid' | 'interval' }
  /** Bytes in PostgreSQL's hexadecimal notation, or in PostGIS's notation without a prefix. */
  | { name: 'hex'; prefix: '\\x' | '' }
  /** Bytes without annotation: text if the whole column is valid text, otherwise hexadecimal. */
  | { name: 'text-or-hex' }

export interface LeafType {
  physical: ParquetType
  /** The size in bytes of a FIXED_LEN_BYTE_ARRAY. */
  width: number
  format: ValueFormat
  kind: VectorKind
  /** The type of the column in the warehouse. */
  dataType: DataType
  precision?: number
  scale?: number
}

/** The maximum precision of a declared numeric in PostgreSQL. */
const maxPrecision = 1000

/**
 * Returns the type of a schema leaf. Throws FileProblem if the type is not supported. `path` names the leaf in
 * messages.
 */
function readLeafType(element: SchemaElement, path: string): LeafType {
  const physical = element.type
  if (physical === undefined) throw unsupportedColumnProblem(path, 'has no type')
  const width = element.type_length ?? 0
  if (physical === 'FIXED_LEN_BYTE_ARRAY' && (width < 1 || width > 1_000_000)) {
    throw unsupportedColumnProblem(path, `has values of ${width} bytes`)
  }
  return { physical, width, ...mapAnnotatedType(element, physical, width, path) }
}

/** The type in the warehouse that a Parquet type is mapped to, and the format of the values. */
type TypeMapping = Omit<LeafType, 'physical' | 'width'>

const typeMapping = (dataType: DataType, kind: VectorKind, format: ValueFormat): TypeMapping => ({
  dataType,
  kind,
  format,
})

/**
 * Returns the mapping for a physical type with an annotation. The annotation is the element's logical type, or the
 * converted type of older writers. An unknown annotation is ignored.
 */
function mapAnnotatedType(element: SchemaElement, physical: ParquetType, width: number, path: string): TypeMapping {
  const isAnnotatedAs = (logicalType: string, convertedType = logicalType) =>
    element.logical_type?.type === logicalType || element.converted_type === convertedType
  if (isAnnotatedAs('DECIMAL')) return mapDecimalType(element, physical, path)
  if (physical === 'INT32' || physical === 'INT64') return mapIntegerType(element, physical)
  if (physical === 'BYTE_ARRAY') {
    if (isAnnotatedAs('JSON')) return typeMapping('JSONB', 'json', { name: 'json' })
    if (isAnnotatedAs('STRING', 'UTF8') || isAnnotatedAs('ENUM')) return typeMapping('TEXT', 'text', { name: 'text' })
    if (isAnnotatedAs('GEOMETRY') || isAnnotatedAs('GEOGRAPHY')) {
      return typeMapping('GEOMETRY', 'text', { name: 'hex', prefix: '' })
    }
    if (isAnnotatedAs('BSON')) return hexMapping
  }
  if (physical === 'FIXED_LEN_BYTE_ARRAY') {
    if (isAnnotatedAs('UUID') && width === 16) return typeMapping('TEXT', 'text', { name: 'uuid' })
    if (isAnnotatedAs('FLOAT16') && width === 2) return typeMapping('FLOAT', 'float', { name: 'float16' })
    if (isAnnotatedAs('INTERVAL') && width === 12) return typeMapping('TEXT', 'text', { name: 'interval' })
  }
  return unannotatedMappings[physical]
}

const hexMapping = typeMapping('TEXT', 'text', { name: 'hex', prefix: '\\x' })

const unannotatedMappings: Record<ParquetType, TypeMapping> = {
  BOOLEAN: typeMapping('BOOLEAN', 'boolean', { name: 'boolean' }),
  INT32: typeMapping('INTEGER', 'integer', { name: 'int32' }),
  INT64: typeMapping('BIGINT', 'integer', { name: 'int64' }),
  INT96: typeMapping('TIMESTAMP', 'timestamp', { name: 'int96' }),
  FLOAT: typeMapping('FLOAT', 'float', { name: 'float' }),
  DOUBLE: typeMapping('DOUBLE', 'double', { name: 'double' }),
  BYTE_ARRAY: typeMapping('TEXT', 'text', { name: 'text-or-hex' }),
  FIXED_LEN_BYTE_ARRAY: hexMapping,
}

/** Returns the mapping for integers, which may be annotated as timestamps, times, dates or integers of other sizes. */
function mapIntegerType(element: SchemaElement, physical: 'INT32' | 'INT64'): TypeMapping {
  const { converted_type: convertedType, logical_type: logicalType } = element
  const is64Bit = physical === 'INT64'
  if (logicalType?.type === 'TIMESTAMP' && is64Bit)
    return mapTimestampType(logicalType.unit, logicalType.isAdjustedToUTC)
  if (logicalType?.type === 'TIME') return mapTimeType(logicalType.unit, is64Bit)
  if (!is64Bit && (logicalType?.type === 'DATE' || convertedType === 'DATE'))
    return typeMapping('DATE', 'date', { name: 'date' })
  // In the old annotation, timestamps were always in UTC.
  if (is64Bit && convertedType === 'TIMESTAMP_MILLIS') return mapTimestampType('MILLIS', true)
  if (is64Bit && convertedType === 'TIMESTAMP_MICROS') return mapTimestampType('MICROS', true)
  if (convertedType === 'TIME_MILLIS') return mapTimeType('MILLIS', is64Bit)
  if (convertedType === 'TIME_MICROS') return mapTimeType('MICROS', is64Bit)
  const { isSigned, bits } = readIntegerSize(element, is64Bit ? 64 : 32)
  if (is64Bit) {
    if (isSigned) return unannotatedMappings.INT64
    return { ...typeMapping('DECIMAL', 'decimal', { name: 'unsigned64', maxDigits: 20 }), precision: 20, scale: 0 }
  }
  if (bits >= 32) return isSigned ? unannotatedMappings.INT32 : typeMapping('BIGINT', 'integer', { name: 'uint32' })
  const max = isSigned ? 2 ** (bits - 1) - 1 : 2 ** bits - 1
  const min = isSigned ? -max - 1 : 0
  return typeMapping(max > maxSmallint ? 'INTEGER' : 'SMALLINT', 'integer', { name: 'small-int', min, max })
}

const maxSmallint = 32_767

/** Returns the sign and size of an integer from its annotation, such as UINT_8. Without one, it is a signed integer. */
function readIntegerSize(
  { converted_type: convertedType, logical_type: logicalType }: SchemaElement,
  physicalBits: 32 | 64,
): { isSigned: boolean; bits: number } {
  if (logicalType?.type === 'INTEGER') return { isSigned: logicalType.isSigned, bits: logicalType.bitWidth }
  const match = /^(U?)INT_(8|16|32|64)$/.exec(convertedType ?? '')
  if (!match) return { isSigned: true, bits: physicalBits }
  return { isSigned: match[1] !== 'U', bits: Number(match[2]) }
}

type TimeUnit = 'MILLIS' | 'MICROS' | 'NANOS'
const unitsPerSecond = { MILLIS: 1_000, MICROS: 1_000_000, NANOS: 1_000_000_000 } as const
const nanosecondsPerUnit = { MILLIS: 1_000_000, MICROS: 1_000, NANOS: 1 } as const

function mapTimestampType(unit: TimeUnit, isUtc: boolean): TypeMapping {
  const format: ValueFormat = { name: 'timestamp', unitsPerSecond: unitsPerSecond[unit] }
  return isUtc ? typeMapping('TIMESTAMPTZ', 'timestamptz', format) : typeMapping('TIMESTAMP', 'timestamp', format)
}

function mapTimeType(unit: TimeUnit, is64Bit: boolean): TypeMapping {
  return typeMapping('TEXT', 'text', { name: 'time', nanosecondsPerUnit: nanosecondsPerUnit[unit], is64Bit })
}

const decimalFormats = {
  INT32: 'decimal32',
  INT64: 'decimal64',
  BYTE_ARRAY: 'decimal-bytes',
  FIXED_LEN_BYTE_ARRAY: 'decimal-bytes',
} as const

function mapDecimalType(element: SchemaElement, physical: ParquetType, path: string): TypeMapping {
  const logicalType = element.logical_type?.type === 'DECIMAL' ? element.logical_type : undefined
  const precision = logicalType?.precision ?? element.precision ?? 0
  const scale = logicalType?.scale ?? element.scale ?? 0
  if (!(precision >= 1 && precision <= maxPrecision && scale >= 0 && scale <= precision)) {
    throw unsupportedColumnProblem(path, `is a DECIMAL(${precision},${scale}), which is not a valid type`)
  }
  if (!(physical in decimalFormats)) {
    throw unsupportedColumnProblem(path, `is a DECIMAL of ${physical}, which is not a valid type`)
  }
  const name = decimalFormats[physical as keyof typeof decimalFormats]
  return { ...typeMapping('DECIMAL', 'decimal', { name, maxDigits: precision }), precision, scale }
}

function unsupportedColumnProblem(path: string, reason: string): FileProblem {
  return new FileProblem(
    'PARQUET_NOT_SUPPORTED',
    `cannot be read: column "${path}" ${reason}. Write the column as another type.`,
  )
}
