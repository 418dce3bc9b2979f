import { type FeedColumn, type StoredType, formatCount, describeColumns } from '@sluice/row-stream'

const integers = ['SMALLINT', 'INTEGER', 'BIGINT']
const integerDigits: Readonly<Record<string, number>> = { SMALLINT: 5, INTEGER: 10, BIGINT: 19 }
const times = ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ']
const floats = ['FLOAT', 'DOUBLE']
const mostDigits = 38

/** Returns the narrowest type that holds every value of both types without loss; TEXT as the last resort. */
export function widen(one: StoredType, other: StoredType): StoredType {
  if (isSame(one, other)) return typeOf(one)
  for (const family of [integers, times]) {
    const [a, b] = [family.indexOf(one.dataType), family.indexOf(other.dataType)]
    if (a >= 0 && b >= 0) return { dataType: a > b ? one.dataType : other.dataType }
  }
  if (!isNumber(one) || !isNumber(other)) return { dataType: 'TEXT' }
  if (floats.includes(one.dataType) || floats.includes(other.dataType)) {
    const isExact = [one, other].every(({ dataType }) => [...floats, 'SMALLINT', 'INTEGER'].includes(dataType))
    // A double rounds integers above 2^53, so larger exact numbers keep all digits as DECIMAL.
    return { dataType: isExact ? 'DOUBLE' : 'DECIMAL' }
  }
  const [a, b] = [digitsOf(one), digitsOf(other)]
  if (!a || !b) return { dataType: 'DECIMAL' }
  const scale = Math.max(a.after, b.after)
  const precision = Math.max(a.before, b.before) + scale
  return precision > mostDigits ? { dataType: 'DECIMAL' } : { dataType: 'DECIMAL', precision, scale }
}

/** Unites two lists of columns: those of the first in order, then those that only the second has. */
export function uniteColumns(one: readonly FeedColumn[], other: readonly FeedColumn[]): FeedColumn[] {
  const more = new Map(other.map((column) => [column.name, column]))
  const all = one.map((column): FeedColumn => {
    const twin = more.get(column.name)
    more.delete(column.name)
    return twin ? { name: column.name, label: column.label, ...united(column, twin) } : column
  })
  return [...all, ...more.values()]
}

/** A column without values does not change the type. Ambiguous dates stay text when the other type is decided. */
function united(one: FeedColumn, other: FeedColumn): StoredType & Pick<FeedColumn, 'evidence'> {
  if (one.evidence === 'NOTHING') return { ...typeOf(other), ...(other.evidence && { evidence: other.evidence }) }
  if (other.evidence === 'NOTHING' || isSame(one, other)) {
    const evidence = other.evidence === 'NOTHING' || one.evidence === other.evidence ? one.evidence : undefined
    return { ...typeOf(one), ...(evidence && { evidence }) }
  }
  return widen(one, other)
}

export const isSame = (one: StoredType, other: StoredType): boolean =>
  one.dataType === other.dataType && one.precision === other.precision && one.scale === other.scale

function typeOf({ dataType, precision, scale }: StoredType): StoredType {
  return { dataType, ...(precision !== undefined && { precision }), ...(scale !== undefined && { scale }) }
}

const isNumber = ({ dataType }: StoredType): boolean =>
  integers.includes(dataType) || floats.includes(dataType) || dataType === 'DECIMAL'

function digitsOf({ dataType, precision, scale = 0 }: StoredType): { before: number; after: number } | undefined {
  const whole = integerDigits[dataType]
  if (whole !== undefined) return { before: whole, after: 0 }
  return precision === undefined ? undefined : { before: precision - scale, after: scale }
}

/** Maximum number of columns that are named individually. */
const maxNamedColumns = 20

/**
 * Describes the differences between the columns of objects, in sentences for a log; undefined if all are equal. `united`
 * is the union of the columns.
 */
export function describeDifferences(
  shapes: readonly (readonly FeedColumn[])[],
  united: readonly FeedColumn[],
): string | undefined {
  const all = shapes.map((shape) => new Map(shape.map((column) => [column.name, column])))
  const notes = united.flatMap((column) => {
    const found = all.map((shape) => shape.get(column.name)).filter((one) => one !== undefined)
    const lacking = shapes.length - found.length
    const kinds = new Map(found.map((one) => [describeColumns([{ ...one, name: '' }]).trim(), one]))
    const said = [
      ...(lacking > 0 ? [`${lacking} of ${shapes.length} do not have it`] : []),
      ...(found.some((one) => one.evidence !== 'NOTHING' && !isSame(one, column))
        ? [`it is ${[...kinds.keys()].join(' and ')}, and becomes ${describeColumns([{ ...column, name: '' }]).trim()}`]
        : []),
    ]
    return said.length > 0 ? [`"${column.label}": ${said.join('; ')}`] : []
  })
  if (notes.length === 0) return undefined
  const more =
    notes.length > maxNamedColumns ? `, and ${formatCount(notes.length - maxNamedColumns, 'column')} more` : ''
  return `The objects differ in their columns. The table has all of them, empty where an object lacks one, and wide enough for all. ${notes.slice(0, maxNamedColumns).join('. ')}${more}.`
}
