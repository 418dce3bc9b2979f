import { FileTrouble, damaged } from './damaged.ts'
import type { ParquetFile } from './footer.ts'
import type { Limits } from './limits.ts'
import type { ParquetColumn } from './schema.ts'

/** The rows that the footer promises. Throws FileTrouble when they contradict each other or are more than such a file can mean. */
export function assertPlausible({ metadata, size }: ParquetFile, { ratio, ratioFrom }: Limits): number {
  const counts = metadata.row_groups.map((group) => Number(group.num_rows))
  if (counts.some((count) => !(count >= 0 && Number.isSafeInteger(count)))) throw damaged('its number of rows')
  const rows = counts.reduce((sum, count) => sum + count, 0)
  if (rows > ratioFrom.rows + ratio * size) {
    throw new FileTrouble('FILE_TOO_DENSE', `claims ${rows} rows in ${size} bytes. It may be built to do harm.`)
  }
  return rows
}

/** The column, with its bytes in hex instead of as text. */
export function asHex({ column, node }: ParquetColumn): ParquetColumn {
  return { column, node: hexBelow(node) }
}

function hexBelow(node: ParquetColumn['node']): ParquetColumn['node'] {
  const { leaf } = node
  if (leaf) {
    if (leaf.type.reading.as !== 'text-or-hex') return node
    const hex = { ...leaf, type: { ...leaf.type, reading: { as: 'hex' as const, prefix: '\\x' as const } } }
    return { ...node, leaf: hex, leaves: [hex] }
  }
  const children = node.children.map(hexBelow)
  return { ...node, children, leaves: children.flatMap(({ leaves }) => leaves) }
}
