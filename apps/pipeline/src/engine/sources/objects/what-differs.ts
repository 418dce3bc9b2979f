import { countOf } from '../count-of.ts'
import { describeColumns } from '../describe-columns.ts'
import type { FeedColumn } from '../source.ts'
import { isSame } from './widen-columns.ts'

/** Columns that are spoken of one by one. */
const mostNamed = 20

/**
 * How the columns of objects differ, in sentences for a log; undefined where they are all alike. `united` is what they come to
 * together.
 */
export function whatDiffers(
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
  const more = notes.length > mostNamed ? `, and ${countOf(notes.length - mostNamed, 'column')} more` : ''
  return `The objects differ in their columns. The table has all of them, empty where an object lacks one, and wide enough for all. ${notes.slice(0, mostNamed).join('. ')}${more}.`
}
