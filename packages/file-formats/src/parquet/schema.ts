import { type FileMetaData, parquetSchema, type SchemaTree } from 'hyparquet'
import { type FeedColumn, maxColumns, identifiers } from '@sluice/row-stream'
import { damagedFileProblem, FileWarning } from './file-problems.ts'
import { type LeafType, leafType } from './leaf-types.ts'
import { maxDepth } from './limits.ts'

/** A node of the schema below a column. Levels are Dremel's: the definition level and the repetition level. */
export interface SchemaNode {
  name: string
  shape: 'leaf' | 'group' | 'list' | 'map'
  /** Whether the node may be absent at its own level. */
  optional: boolean
  repeated: boolean
  definition: number
  repetition: number
  children: SchemaNode[]
  leaf?: SchemaLeaf
  /** All leaves below the node, in file order. */
  leaves: SchemaLeaf[]
}

export interface SchemaLeaf {
  /** The index of the column chunk in a row group. */
  index: number
  path: string
  type: LeafType
  maxDefinition: number
  maxRepetition: number
}

/** One column of the table: a plain leaf, or a tree that becomes JSON. */
export interface ParquetColumn {
  column: FeedColumn
  node: SchemaNode
}

/** Returns the table that a schema describes. Throws FileWarning. */
export function readSchema(metadata: FileMetaData): ParquetColumn[] {
  const root = treeOf(metadata)
  const seen = { leaves: 0 }
  const nodes = root.children.map((child) => nodeOf(child, { definition: 0, repetition: 0, depth: 1 }, seen))
  if (nodes.length === 0) throw new FileWarning('FILE_EMPTY', 'has no columns. Upload a file with data.')
  if (nodes.length > maxColumns) {
    throw new FileWarning(
      'PARQUET_NOT_SUPPORTED',
      `has ${nodes.length} columns; a table has at most ${maxColumns}. Leave some out.`,
    )
  }
  const names = identifiers(nodes.map(({ name }) => name))
  return nodes.map((node, index) => ({ node, column: { name: names[index]!, label: node.name, ...typeOf(node) } }))
}

/** Whether a column is a plain leaf, whose rows are its entries. */
export function isFlat(node: SchemaNode): node is SchemaNode & { leaf: SchemaLeaf } {
  return node.leaf !== undefined && !node.repeated
}

function typeOf(node: SchemaNode): Pick<FeedColumn, 'dataType' | 'precision' | 'scale'> {
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

function nodeOf(tree: SchemaTree, above: NestingLevels, seen: { leaves: number }): SchemaNode {
  const { element, children, path } = tree
  const repeated = element.repetition_type === 'REPEATED'
  const optional = element.repetition_type === 'OPTIONAL'
  const levels = {
    definition: above.definition + (repeated || optional ? 1 : 0),
    repetition: above.repetition + (repeated ? 1 : 0),
    depth: above.depth + 1,
  }
  if (levels.depth > maxDepth) {
    throw new FileWarning('PARQUET_NOT_SUPPORTED', `nests groups deeper than ${maxDepth}. Write it flatter.`)
  }
  const base = { name: element.name, optional, repeated, definition: levels.definition, repetition: levels.repetition }
  if (children.length === 0 && element.type !== undefined) {
    const leaf: SchemaLeaf = {
      index: seen.leaves++,
      path: path.join('.'),
      type: leafType(element, path.join('.')),
      maxDefinition: levels.definition,
      maxRepetition: levels.repetition,
    }
    return { ...base, shape: 'leaf', children: [], leaf, leaves: [leaf] }
  }
  if (element.logical_type?.type === 'VARIANT') {
    throw new FileWarning(
      'PARQUET_NOT_SUPPORTED',
      `cannot be read: column "${path.join('.')}" is a VARIANT. Write it as text or JSON.`,
    )
  }
  const nodes = children.map((child) => nodeOf(child, levels, seen))
  const leaves = nodes.flatMap((node) => node.leaves)
  if (leaves.length === 0) throw damagedFileProblem(`column "${path.join('.')}", a group of nothing,`)
  return { ...base, shape: shapeOf(tree, nodes), children: nodes, leaves }
}

/**
 * Returns the shape of an annotated group, in the variants of old and new writers. A list or map without its repeated
 * group is a plain group.
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
 * Returns the element of a list: the child of its repeated group, or the repeated node itself in files of old writers
 * without three levels. The rules are those of Parquet's LogicalTypes.md, "Lists".
 */
export function elementOf(list: SchemaNode): { repeated: SchemaNode; element?: SchemaNode } {
  const repeated = list.children[0]!
  const [only, ...more] = repeated.children
  const itself =
    !only || more.length > 0 || only.repeated || repeated.name === 'array' || repeated.name === `${list.name}_tuple`
  return itself ? { repeated } : { repeated, element: only }
}
