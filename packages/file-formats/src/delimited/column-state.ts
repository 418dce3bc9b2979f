import type { DataType } from '@sluice/contracts'
import { SourceProblem, type StoredType } from '@sluice/row-stream'
import type { ColumnType } from './dialect/column-type.ts'
import type { ColumnOptions, DateFormat } from './dialect/delimited-options.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import type { WasmScanner } from './wasm-scanner.ts'

/** The codes of the stored types, in the order of assembly/column-state.ts. */
const stateCodes = [
  'TEXT',
  'BOOLEAN',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'DECIMAL',
  'DOUBLE',
  'DATE',
  'TIMESTAMP',
  'TIMESTAMPTZ',
  'FLOAT',
  'VARCHAR',
  'JSONB',
] as const
type StateCode = (typeof stateCodes)[number]

const codesOfOtherTypes: Partial<Record<DataType, StateCode>> = {
  CHARACTER_11: 'VARCHAR',
  VARCHAR_50: 'VARCHAR',
  VARCHAR_255: 'VARCHAR',
  GEOMETRY: 'TEXT',
  GEOMETRY_POINT: 'TEXT',
}
const maxCharacters: Partial<Record<DataType, number>> = { CHARACTER_11: 11, VARCHAR_50: 50, VARCHAR_255: 255 }

/** Date spellings by bit, in the order of assembly/dates.ts. */
export const dateSpellings: readonly DateFormat[] = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'MM/DD/YYYY',
  'DD-MM-YYYY',
  'MM-DD-YYYY',
  'YYYYMMDD',
]

/**
 * The offsets of the fields in a column's state, in the layout of assembly/column-state.ts. `kinds` to `spellings` and
 * `provenSpellings` are observed; the others are set before values are written.
 */
const offsets = {
  kinds: 0,
  integerSize: 1,
  integerDigits: 2,
  scale: 3,
  spellings: 4,
  storedType: 5,
  check: 6,
  type: 7,
  maxTypeDigits: 8,
  maxTypeScale: 9,
  typeSpellings: 10,
  maxStoredDigits: 11,
  maxStoredScale: 12,
  provenSpellings: 13,
  maxCharacters: 14,
} as const

/**
 * Bits of the field `check`. PROVEN: the type is inferred, so a value that does not fit it makes it wider; without this
 * bit, the row of such a value is rejected. APART: the stored
 * type is wider than the type. VALID_JSON: the source has already validated the JSON.
 */
const PROVEN = 1
const APART = 2
const VALID_JSON = 4

/** Masks of date spellings: all that are recognised, and those that a single value can prove. */
const inferred = 0x7f
const unmistakable = 0x07
const maxPrecision = 38
const everyKind = 0xff
const anyDigits = 255
/** The type code for a column without values. Only inferred types have it. */
const nothingCode = 13

const timeKinds = 0x70
const zonedKind = 0x40
/** Masks of date spellings that contradict a column with the day first, or with the month first. */
const monthFirst = 0x50
const dayFirst = 0x28

/** Returns the scanner's code for a stored type. */
export function stateCodeOf(dataType: DataType): number {
  return stateCodes.indexOf(codesOfOtherTypes[dataType] ?? (dataType as StateCode))
}

/**
 * True if a column of this type stores text. There, a quoted empty field is an empty text; in other columns it is null.
 */
export const isTextType = (dataType: DataType) => ['TEXT', 'VARCHAR'].includes(stateCodes[stateCodeOf(dataType)]!)
const spellingOf = (format: DateFormat) => 1 << dateSpellings.indexOf(format)

/** Returns the state of a column, in the layout of assembly/column-state.ts. */
export function columnStateOf({ bytes, run }: WasmScanner, column: number): Buffer {
  const address = run.COLUMNS.value + column * run.COLUMN_BYTES.value
  return bytes.subarray(address, address + run.COLUMN_BYTES.value)
}

/**
 * Resets the observations of all columns. A column with an entry in `declaredTypes` is checked against it; the others
 * are observed.
 */
function resetColumns(
  wasm: WasmScanner,
  declaredTypes: readonly (ColumnType | undefined)[],
  dayFirstOf: readonly (boolean | undefined)[] = [],
): void {
  wasm.run.forgetColumns(declaredTypes.length)
  for (const [column, type] of declaredTypes.entries()) {
    const state = columnStateOf(wasm, column)
    state[offsets.spellings] = inferred & ~otherOrder(dayFirstOf[column])
    state[offsets.check] = PROVEN
    if (type) setColumn(wasm, column, type, type, false)
  }
}

/**
 * The observations of one column since the last reset: bits for the kinds of its values, and for the date spellings
 * that fit all of them.
 */
export class ObservedColumn {
  readonly #state: Buffer

  constructor(wasm: WasmScanner, column: number) {
    this.#state = columnStateOf(wasm, column)
  }

  reset(): void {
    this.#state[offsets.kinds] = 0
    this.#state[offsets.spellings] = inferred
  }

  get kinds(): number {
    return this.#state[offsets.kinds]!
  }

  get spellings(): number {
    return this.#state[offsets.spellings]!
  }
}

const otherOrder = (isDayFirst: boolean | undefined): number =>
  isDayFirst === undefined ? 0 : isDayFirst ? monthFirst : dayFirst

/** True if a value contradicts the known order of day and month of its column. */
export function hasOtherDateOrder(wasm: WasmScanner, column: number, isDayFirst: boolean | undefined): boolean {
  return (columnStateOf(wasm, column)[13]! & otherOrder(isDayFirst)) !== 0
}

/**
 * Sets a column's type, its stored type, and whether the type is inferred. Also sets the limits of both types: digits,
 * scale, date spellings and, for texts, the maximum number of characters. Keeps the observations. The type of a column
 * without values is `nothingCode`, unless it is stored as TEXT.
 */
export function setColumn(
  wasm: WasmScanner,
  column: number,
  type: ColumnType,
  storedType: StoredType,
  isInferred: boolean,
): void {
  const state = columnStateOf(wasm, column)
  const typeCode =
    type.evidence === 'NOTHING' && storedType.dataType !== 'TEXT' ? nothingCode : stateCodeOf(type.dataType)
  const isStoredUnchanged = typeCode === stateCodeOf(storedType.dataType)
  // Text types differ only in their maximum length, so the shorter one applies.
  const areBothTexts = typeCode !== nothingCode && isTextType(type.dataType) && isTextType(storedType.dataType)
  state[offsets.storedType] = stateCodeOf(
    areBothTexts ? shorterType(type.dataType, storedType.dataType) : storedType.dataType,
  )
  state[offsets.check] =
    (isInferred ? PROVEN : 0) | (isStoredUnchanged || areBothTexts ? 0 : APART) | (type.hasValidJson ? VALID_JSON : 0)
  state[offsets.type] = typeCode
  state[offsets.maxTypeDigits] = packedDigits(type)
  state[offsets.maxTypeScale] = type.precision === undefined ? anyDigits : (type.scale ?? 0)
  state[offsets.typeSpellings] = type.dateFormat ? spellingOf(type.dateFormat) : unmistakable
  // If both are DECIMAL, the warehouse pads the narrower value, so the narrower limits apply.
  const limitingType = isStoredUnchanged ? type : storedType
  state[offsets.maxStoredDigits] = packedDigits(limitingType)
  state[offsets.maxStoredScale] = limitingType.precision === undefined ? anyDigits : (limitingType.scale ?? 0)
  state.writeUInt16LE(
    areBothTexts
      ? (maxCharacters[shorterType(type.dataType, storedType.dataType)] ?? 0)
      : (maxCharacters[storedType.dataType] ?? 0),
    offsets.maxCharacters,
  )
}

function packedDigits({ precision, scale }: StoredType): number {
  return precision === undefined ? anyDigits : precision - (scale ?? 0)
}

function shorterType(firstType: DataType, secondType: DataType): DataType {
  return (maxCharacters[firstType] ?? Infinity) < (maxCharacters[secondType] ?? Infinity) ? firstType : secondType
}

/** Returns the narrowest type that represents all observed values of a column. */
export function seenType(wasm: WasmScanner, column: number): ColumnType {
  const state = columnStateOf(wasm, column)
  const dataType = stateCodes[wasm.run.columnType(column)] as DataType
  if (dataType === 'TEXT') {
    const evidence = undecidedEvidence(state[offsets.kinds]!, state[offsets.spellings]!)
    return { dataType, ...(evidence && { evidence }) }
  }
  if (dataType === 'DECIMAL') {
    const scale = state[offsets.scale]!
    return { dataType, precision: Math.min(Math.max(state[offsets.integerDigits]!, 1) + scale, maxPrecision), scale }
  }
  if (dataType === 'DATE' || dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ') {
    return { dataType, dateFormat: dateSpellings[31 - Math.clz32(state[offsets.spellings]!)]! }
  }
  return { dataType }
}

/**
 * Returns the evidence if a column is TEXT only because it has no values or ambiguous values, by the rules of
 * assembly/column-type.ts.
 */
function undecidedEvidence(kinds: number, spellings: number): 'NOTHING' | 'AMBIGUOUS' | undefined {
  if (kinds === 0) return 'NOTHING'
  const areTimes = (kinds & ~timeKinds) === 0 && ((kinds & zonedKind) === 0 || kinds === zonedKind)
  return areTimes && (spellings & (spellings - 1)) !== 0 ? 'AMBIGUOUS' : undefined
}

/** Copies the state of each column (kinds and sizes of observed values), for `mergeColumnStates`. */
export function copyColumnStates(wasm: WasmScanner, columns: number): Buffer[] {
  return Array.from({ length: columns }, (_, column) => Buffer.from(columnStateOf(wasm, column)))
}

/** Adds the column states of another pass over the same rows, so that types determined afterwards fit both passes. */
export function mergeColumnStates(wasm: WasmScanner, states: readonly Uint8Array[]): void {
  for (const [column, stateBefore] of states.entries()) {
    const state = columnStateOf(wasm, column)
    state[offsets.kinds]! |= stateBefore[offsets.kinds]!
    for (const offset of [offsets.integerSize, offsets.integerDigits, offsets.scale])
      state[offset] = Math.max(state[offset]!, stateBefore[offset]!)
    state[offsets.spellings]! &= stateBefore[offsets.spellings]!
    state[offsets.provenSpellings]! |= stateBefore[offsets.provenSpellings]!
  }
}

/** Restores copied column states. */
export function restoreColumnStates(wasm: WasmScanner, states: readonly Uint8Array[]): void {
  for (const [column, stateBefore] of states.entries()) columnStateOf(wasm, column).set(stateBefore)
}

/** Stops observing a column. Returns a function that resumes it. */
export function closeColumn(wasm: WasmScanner, column: number): () => void {
  const state = columnStateOf(wasm, column)
  const kinds = state[offsets.kinds]!
  state[offsets.kinds] = everyKind
  return () => {
    state[offsets.kinds] = kinds
  }
}

/** Returns the types from the options, one entry per column. */
export function givenTypes({ columns }: DelimitedDialect): (ColumnType | undefined)[] {
  return columns.map((options) => {
    const declaredTypes = options && givenType(options)
    return declaredTypes && !options.declared ? { ...declaredTypes, evidence: 'REQUESTED' } : declaredTypes
  })
}

/** Returns the type from the options of a column. A date format without a type means DATE. */
function givenType({ dataType, precision, scale, dateFormat, hasValidJson }: ColumnOptions): ColumnType | undefined {
  if (!dataType) return dateFormat && { dataType: 'DATE', dateFormat }
  return {
    dataType,
    ...(precision && { precision, scale: scale ?? 0 }),
    ...(dateFormat && { dateFormat }),
    ...(hasValidJson && { hasValidJson }),
  }
}

/**
 * Configures the scanner for a dialect and resets its columns to the types from the options. `chunkBytes` is the
 * maximum size of a chunk.
 */
export function configureScanner(wasm: WasmScanner, dialect: DelimitedDialect, chunkBytes: number): void {
  const { run } = wasm
  const declaredTypes = givenTypes(dialect)
  run.setDecimal(dialect.decimal)
  setNullSpellings(wasm, dialect.nulls)
  resetColumns(wasm, declaredTypes, dialect.dayFirst)
  run.setUse(dialect.labels.length, chunkBytes, declaredTypes.some((type) => type !== undefined) ? 1 : 0)
}

function setNullSpellings({ run, bytes }: WasmScanner, nulls: readonly string[]): void {
  let address = run.NULLS.value
  const end = address + run.NULLS_BYTES.value
  for (const spelling of nulls) {
    const length = Buffer.byteLength(spelling)
    if (length > 255 || address + length + 1 > end) {
      throw new SourceProblem(
        'OPTIONS_NOT_USABLE',
        'The option nullValues has too many or too long texts. Remove or shorten some of them.',
      )
    }
    bytes[address] = length
    bytes.write(spelling, address + 1)
    address += length + 1
  }
  run.setNulls(nulls.length)
}
