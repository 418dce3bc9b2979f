import { resetColumns } from './column-state.ts'
import type { ColumnType } from './column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import type { ColumnOptions } from './dialect/delimited-options.ts'
import type { WasmScanner } from './wasm-scanner.ts'
import { SourceProblem } from '@sluice/row-stream'

/** Returns the types that the options give, one entry for each column. */
export function givenTypes({ columns }: DelimitedDialect): (ColumnType | undefined)[] {
  return columns.map((options) => {
    const given = options && givenType(options)
    return given && !options.declared ? { ...given, evidence: 'REQUESTED' } : given
  })
}

/** A date format without a type means DATE. */
function givenType({ dataType, precision, scale, dateFormat }: ColumnOptions): ColumnType | undefined {
  if (!dataType) return dateFormat && { dataType: 'DATE', dateFormat }
  return { dataType, ...(precision && { precision, scale: scale ?? 0 }), ...(dateFormat && { dateFormat }) }
}

/** Configures the scanner for a dialect and resets its columns to the given types. `chunkBytes` limits the size of a chunk. */
export function configureScanner(machine: WasmScanner, dialect: DelimitedDialect, chunkBytes: number): void {
  const { run } = machine
  const given = givenTypes(dialect)
  run.setDecimal(dialect.decimal)
  setNullSpellings(machine, dialect.nulls)
  resetColumns(machine, given, dialect.dayFirst)
  run.setUse(dialect.labels.length, chunkBytes, given.some((type) => type !== undefined) ? 1 : 0)
}

function setNullSpellings({ run, bytes }: WasmScanner, nulls: readonly string[]): void {
  let at = run.NULLS.value
  const end = at + run.NULLS_BYTES.value
  for (const spelling of nulls) {
    const length = Buffer.byteLength(spelling)
    if (length > 255 || at + length + 1 > end) {
      throw new SourceProblem('OPTIONS_NOT_USABLE', 'There are too many spellings of null, or too long ones.')
    }
    bytes[at] = length
    bytes.write(spelling, at + 1)
    at += length + 1
  }
  run.setNulls(nulls.length)
}
