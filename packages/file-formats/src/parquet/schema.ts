import type { DataType } from '@sluice/contracts'
import { type Column, toUniqueIdentifiers, maxColumns, type VectorKind } from '@sluice/row-stream'
import { type FileMetaData, parquetSchema, type ParquetType, type SchemaElement, type SchemaTree } from 'hyparquet'
import { damagedFileProblem, FileProblem } from './file-problems.ts'
import { maxDepth } from './limits.ts'

/** A node of the schema below a column. Levels are Dremel's definition level and repetition level. */
export interface SchemaNode {
  name: string
  shape: 'leaf' | 'group' | 'list' | 'map'
  /** True if the node may be absent within its parent. */
  optional: boolean
  repeated: boolean
  definition: number
  repetition: number
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

/** Returns the columns of the table that a schema describes. Throws FileProblem. */
export function readSchema(metadata: FileMetaData): ParquetColumn[] {
  const root = treeOf(metadata)
  const counter = { leaves: 0 }
  const nodes = root.children.map((child) => nodeOf(child, { definition: 0, repetition: 0, depth: 1 }, counter))
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
    column: { name: names[index]!, label: node.name, ...columnTypeOf(node) },
  }))
}

/** True if a column is a single leaf that is not repeated, so that its entries are the rows. */
export function isFlat(node: SchemaNode): node is SchemaNode & { leaf: SchemaLeaf } {
  return node.leaf !== undefined && !node.repeated
}

function columnTypeOf(node: SchemaNode): Pick<Column, 'dataType' | 'precision' | 'scale'> {
  if (!isFlat(node)) return { dataType: 'JSONB' }
  const { dataType, precision, scale } = node.leaf.type
  return { dataType, ...(precision !== undefined && { precision }), ...(scale !== undefined && { scale }) }
}

function treeOf(metadata: FileMetaData): SchemaTree {
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

/** Returns the node of an element with its descendants. `counter.leaves` numbers the leaves. */
function nodeOf(tree: SchemaTree, parentLevels: NestingLevels, counter: { leaves: number }): SchemaNode {
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
    optional: isOptional,
    repeated: isRepeated,
    definition: levels.definition,
    repetition: levels.repetition,
  }
  if (children.length === 0 && element.type !== undefined) {
    const leaf: SchemaLeaf = {
      index: counter.leaves++,
      path: path.join('.'),
      type: leafType(element, path.join('.')),
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
  const childNodes = children.map((child) => nodeOf(child, levels, counter))
  const leaves = childNodes.flatMap((node) => node.leaves)
  if (leaves.length === 0) throw damagedFileProblem(`column "${path.join('.')}", an empty group,`)
  return { ...commonFields, shape: shapeOf(tree, childNodes), children: childNodes, leaves }
}

/**
 * Returns whether an annotated group is a list or a map, in the variants of old and new writers. A list or map without
 * its repeated group is an ordinary group.
 */
function shapeOf({ element }: SchemaTree, nodes: SchemaNode[]): SchemaNode['shape'] {
  const { converted_type: converted, logical_type: logical } = element
  const [only, ...more] = nodes
  if (!only?.repeated || more.length > 0) return 'group'
  if (logical?.type === 'LIST' || converted === 'LIST') return 'list'
  if ((logical?.type === 'MAP' || converted?.startsWith('MAP')) && only.children.length <= 2 && !only.leaf) return 'map'
  return 'group'
}

/**
 * Returns the element of a list: the child of its repeated group. In files of old writers without three levels, it is
 * the repeated node itself. The rules are in Parquet's LogicalTypes.md, "Lists".
 */
export function elementOf(list: SchemaNode): { repeated: SchemaNode; element?: SchemaNode } {
  const repeated = list.children[0]!
  const [only, ...more] = repeated.children
  const isElementItself =
    !only || more.length > 0 || only.repeated || repeated.name === 'array' || repeated.name === `${list.name}_tuple`
  return isElementItself ? { repeated } : { repeated, element: only }
}

/** The interpretation of a leaf's values, from the bytes of PLAIN encoding. */
export type LeafReading =
  | { as: 'boolean' }
  /** An integer. `from` and `to` are the range of the annotation, if it has fewer than 32 bits. */
  | { as: 'int32' | 'uint32'; from?: number; to?: number }
  | { as: 'int64' | 'float16' | 'float' | 'double' | 'date' | 'int96' }
  /** Exact numbers of at most `digits` digits. */
  | { as: 'decimal32' | 'decimal64' | 'unsigned64' | 'decimal-bytes'; digits: number }
  /** A timestamp. `perSecond` is the number of its units per second. */
  | { as: 'timestamp'; perSecond: 1_000 | 1_000_000 | 1_000_000_000 }
  | { as: 'time'; nanoseconds: 1 | 1_000 | 1_000_000; wide: boolean }
  | { as: 'text' | 'json' | 'uuid' | 'interval' }
  /** Bytes in PostgreSQL's hexadecimal notation, or in PostGIS's notation without a prefix. */
  | { as: 'hex'; prefix: '\\x' | '' }
  /** Bytes without annotation: text if the whole column is valid text, otherwise hexadecimal. */
  | { as: 'text-or-hex' }

export interface LeafType {
  physical: ParquetType
  /** The size in bytes of a FIXED_LEN_BYTE_ARRAY. */
  width: number
  reading: LeafReading
  kind: VectorKind
  dataType: DataType
  precision?: number
  scale?: number
}

/** The maximum precision of a declared numeric in PostgreSQL. */
const maxPrecision = 1000

/** Returns the exact type of a schema leaf from its annotation. Throws FileProblem for unsupported types. */
function leafType(element: SchemaElement, label: string): LeafType {
  const physical = element.type
  if (physical === undefined) throw unsupportedColumnProblem(label, 'has no type')
  const width = element.type_length ?? 0
  if (physical === 'FIXED_LEN_BYTE_ARRAY' && (width < 1 || width > 1_000_000)) {
    throw unsupportedColumnProblem(label, `has values of ${width} bytes`)
  }
  return { physical, width, ...annotatedElement(element, physical, width, label) }
}

type TypedElement = Omit<LeafType, 'physical' | 'width'>

const typedElement = (dataType: DataType, kind: VectorKind, reading: LeafReading): TypedElement => ({
  dataType,
  kind,
  reading,
})

/**
 * Returns the type of a column from its physical type and its logical or converted type. Ignores unknown annotations.
 */
function annotatedElement(element: SchemaElement, physical: ParquetType, width: number, label: string): TypedElement {
  const { converted_type: convertedType, logical_type: logicalType } = element
  const isByteArray = physical === 'BYTE_ARRAY'
  if (logicalType?.type === 'DECIMAL' || convertedType === 'DECIMAL') return decimalElement(element, physical, label)
  if (physical === 'INT32' || physical === 'INT64') return integerElement(element, physical)
  if (isByteArray && (logicalType?.type === 'JSON' || convertedType === 'JSON'))
    return typedElement('JSONB', 'json', { as: 'json' })
  if (isByteArray && (logicalType?.type === 'STRING' || convertedType === 'UTF8'))
    return typedElement('TEXT', 'text', { as: 'text' })
  if (isByteArray && (logicalType?.type === 'ENUM' || convertedType === 'ENUM'))
    return typedElement('TEXT', 'text', { as: 'text' })
  if (isByteArray && (logicalType?.type === 'GEOMETRY' || logicalType?.type === 'GEOGRAPHY')) {
    return typedElement('GEOMETRY', 'text', { as: 'hex', prefix: '' })
  }
  if (isByteArray && (logicalType?.type === 'BSON' || convertedType === 'BSON')) return hexElement
  if (physical === 'FIXED_LEN_BYTE_ARRAY') {
    if (logicalType?.type === 'UUID' && width === 16) return typedElement('TEXT', 'text', { as: 'uuid' })
    if (logicalType?.type === 'FLOAT16' && width === 2) return typedElement('FLOAT', 'float', { as: 'float16' })
    if ((logicalType?.type === 'INTERVAL' || convertedType === 'INTERVAL') && width === 12) {
      return typedElement('TEXT', 'text', { as: 'interval' })
    }
  }
  return unannotatedElements[physical]
}

const hexElement = typedElement('TEXT', 'text', { as: 'hex', prefix: '\\x' })

const unannotatedElements: Record<ParquetType, TypedElement> = {
  BOOLEAN: typedElement('BOOLEAN', 'boolean', { as: 'boolean' }),
  INT32: typedElement('INTEGER', 'integer', { as: 'int32' }),
  INT64: typedElement('BIGINT', 'integer', { as: 'int64' }),
  INT96: typedElement('TIMESTAMP', 'timestamp', { as: 'int96' }),
  FLOAT: typedElement('FLOAT', 'float', { as: 'float' }),
  DOUBLE: typedElement('DOUBLE', 'double', { as: 'double' }),
  BYTE_ARRAY: typedElement('TEXT', 'text', { as: 'text-or-hex' }),
  FIXED_LEN_BYTE_ARRAY: hexElement,
}

/**
 * Returns the type of an integer column. Its annotations may declare it as a timestamp, time, date or another integer.
 */
function integerElement(element: SchemaElement, physical: 'INT32' | 'INT64'): TypedElement {
  const { converted_type: convertedType, logical_type: logicalType } = element
  const is64Bit = physical === 'INT64'
  if (logicalType?.type === 'TIMESTAMP' && is64Bit)
    return timestampElement(logicalType.unit, logicalType.isAdjustedToUTC)
  if (logicalType?.type === 'TIME') return timeElement(logicalType.unit, is64Bit)
  if (!is64Bit && (logicalType?.type === 'DATE' || convertedType === 'DATE'))
    return typedElement('DATE', 'date', { as: 'date' })
  // In the old annotation, timestamps were always in UTC.
  if (is64Bit && convertedType === 'TIMESTAMP_MILLIS') return timestampElement('MILLIS', true)
  if (is64Bit && convertedType === 'TIMESTAMP_MICROS') return timestampElement('MICROS', true)
  if (convertedType === 'TIME_MILLIS') return timeElement('MILLIS', is64Bit)
  if (convertedType === 'TIME_MICROS') return timeElement('MICROS', is64Bit)
  const annotationMatch = /^(U?)INT_(8|16|32|64)$/.exec(convertedType ?? '')
  const isSigned = logicalType?.type === 'INTEGER' ? logicalType.isSigned : annotationMatch?.[1] !== 'U'
  const bits =
    logicalType?.type === 'INTEGER' ? logicalType.bitWidth : Number(annotationMatch?.[2] ?? (is64Bit ? 64 : 32))
  if (is64Bit) {
    if (isSigned) return unannotatedElements.INT64
    return { ...typedElement('DECIMAL', 'decimal', { as: 'unsigned64', digits: 20 }), precision: 20, scale: 0 }
  }
  if (bits >= 32) return isSigned ? unannotatedElements.INT32 : typedElement('BIGINT', 'integer', { as: 'uint32' })
  const maxValue = isSigned ? 2 ** (bits - 1) - 1 : 2 ** bits - 1
  const reading: LeafReading = { as: 'int32', from: isSigned ? -maxValue - 1 : 0, to: maxValue }
  return typedElement(maxValue > 32_767 ? 'INTEGER' : 'SMALLINT', 'integer', reading)
}

type TimeUnit = 'MILLIS' | 'MICROS' | 'NANOS'
const perSecond = { MILLIS: 1_000, MICROS: 1_000_000, NANOS: 1_000_000_000 } as const
const nanosecondsPerUnit = { MILLIS: 1_000_000, MICROS: 1_000, NANOS: 1 } as const

function timestampElement(unit: TimeUnit, isUtc: boolean): TypedElement {
  const reading: LeafReading = { as: 'timestamp', perSecond: perSecond[unit] }
  return isUtc ? typedElement('TIMESTAMPTZ', 'timestamptz', reading) : typedElement('TIMESTAMP', 'timestamp', reading)
}

function timeElement(unit: TimeUnit, is64Bit: boolean): TypedElement {
  return typedElement('TEXT', 'text', { as: 'time', nanoseconds: nanosecondsPerUnit[unit], wide: is64Bit })
}

function decimalElement(element: SchemaElement, physical: ParquetType, label: string): TypedElement {
  const logicalType = element.logical_type?.type === 'DECIMAL' ? element.logical_type : undefined
  const precision = logicalType?.precision ?? element.precision ?? 0
  const scale = logicalType?.scale ?? element.scale ?? 0
  if (!(precision >= 1 && precision <= maxPrecision && scale >= 0 && scale <= precision)) {
    throw unsupportedColumnProblem(label, `is a DECIMAL(${precision},${scale}), which is not a valid type`)
  }
  const storage =
    physical === 'INT32'
      ? 'decimal32'
      : physical === 'INT64'
        ? 'decimal64'
        : physical === 'BYTE_ARRAY' || physical === 'FIXED_LEN_BYTE_ARRAY'
          ? 'decimal-bytes'
          : undefined
  if (!storage) throw unsupportedColumnProblem(label, `is a DECIMAL of ${physical}, which is not a valid type`)
  return { ...typedElement('DECIMAL', 'decimal', { as: storage, digits: precision }), precision, scale }
}

function unsupportedColumnProblem(label: string, reason: string): FileProblem {
  return new FileProblem(
    'PARQUET_NOT_SUPPORTED',
    `cannot be read: column "${label}" ${reason}. Write the column as another type.`,
  )
}
