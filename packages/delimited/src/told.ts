import { forgetColumns } from './column-state.ts'
import type { ColumnType } from './column-type.ts'
import type { Dialect } from './dialect/dialect.ts'
import type { ColumnOptions } from './dialect/options.ts'
import type { Machine } from './machine.ts'
import { DelimitedProblem } from './problem.ts'

/** Types that are no guess, one place for each column. */
export function givenTypes({ columns }: Dialect): (ColumnType | undefined)[] {
  return columns.map((options) => {
    const given = options && givenType(options)
    return given && !options.declared ? { ...given, evidence: 'REQUESTED' } : given
  })
}

/** A way to write days alone means a DATE. */
function givenType({ dataType, precision, scale, dateFormat }: ColumnOptions): ColumnType | undefined {
  if (!dataType) return dateFormat && { dataType: 'DATE', dateFormat }
  return { dataType, ...(precision && { precision, scale: scale ?? 0 }), ...(dateFormat && { dateFormat }) }
}

/** Tells the machine what values mean, with nothing known of the columns but what is given. Chunks end at so many bytes. */
export function tellDialect(machine: Machine, dialect: Dialect, chunkBytes: number): void {
  const { run } = machine
  const given = givenTypes(dialect)
  run.setDecimal(dialect.decimal)
  tellNulls(machine, dialect.nulls)
  forgetColumns(machine, given, dialect.dayFirst)
  run.setUse(dialect.labels.length, chunkBytes, given.some((type) => type !== undefined) ? 1 : 0)
}

function tellNulls({ run, bytes }: Machine, nulls: readonly string[]): void {
  let at = run.NULLS.value
  const end = at + run.NULLS_BYTES.value
  for (const spelling of nulls) {
    const length = Buffer.byteLength(spelling)
    if (length > 255 || at + length + 1 > end) {
      throw new DelimitedProblem('OPTIONS_NOT_USABLE', 'There are too many spellings of null, or too long ones.')
    }
    bytes[at] = length
    bytes.write(spelling, at + 1)
    at += length + 1
  }
  run.setNulls(nulls.length)
}
