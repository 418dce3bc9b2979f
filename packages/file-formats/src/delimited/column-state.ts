import type { DataType } from '@sluice/contracts'
import { SourceProblem, type StoredType } from '@sluice/row-stream'
import type { ColumnType } from './dialect/column-type.ts'
import type { ColumnOptions, DateFormat } from './dialect/delimited-options.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import type { WasmScanner } from './wasm-scanner.ts'

/** The stored types that the scanner knows. The index of a type is its code in assembly/column-state.ts. */
const typesByCode = [
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
type ScannerType = (typeof typesByCode)[number]

const scannerTypesOfOtherTypes: Partial<Record<DataType, ScannerType>> = {
  CHARACTER_11: 'VARCHAR',
  VARCHAR_50: 'VARCHAR',
  VARCHAR_255: 'VARCHAR',
  GEOMETRY: 'TEXT',
  GEOMETRY_POINT: 'TEXT',
}
const maxCharacters: Partial<Record<DataType, number>> = { CHARACTER_11: 11, VARCHAR_50: 50, VARCHAR_255: 255 }

/**
 * The date formats. In masks of date formats, the bit number of a format is its index here, as in
 * assembly/read-date.ts.
 */
export const dateFormatsByBit: readonly DateFormat[] = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'MM/DD/YYYY',
  'DD-MM-YYYY',
  'MM-DD-YYYY',
  'YYYYMMDD',
]

/** Positions in the state of a column. The layout is described in assembly/column-state.ts. */
const STATE = {
  KINDS: 0,
  INTEGER_SIZE: 1,
  INTEGER_DIGITS: 2,
  SCALE: 3,
  DATE_FORMATS: 4,
  STORED_TYPE: 5,
  CHECK: 6,
  TYPE: 7,
  TYPE_DIGITS: 8,
  TYPE_SCALE: 9,
  TYPE_DATE_FORMATS: 10,
  STORED_DIGITS: 11,
  STORED_SCALE: 12,
  PROVEN_DATE_FORMATS: 13,
  MAX_CHARACTERS: 14,
} as const

/** Bits of `STATE.CHECK`: how the scanner checks the values of a column. */
const INFERRED = 1
const STORED_WIDER = 2
const VALID_JSON = 4

/** Masks of date formats: all that type inference recognises, and those that no other format can be confused with. */
const inferableDateFormats = 0x7f
const unambiguousDateFormats = 0x07
const maxPrecision = 38
const allKinds = 0xff
const anyDigits = 255
/** The length of a text that means null must fit into one byte. */
const maxNullTextBytes = 255
/** The type code of a column without values. Only inferred types have it. */
const codeOfColumnWithoutValues = 13

/** Masks of kinds of values: DATE, TIMESTAMP and TIMESTAMPTZ together, and TIMESTAMPTZ alone. */
const temporalKinds = 0x70
const timestamptzKind = 0x40
/** Masks of the date formats that are ambiguous: those with the month first, and those with the day first. */
const monthFirstFormats = 0x50
const dayFirstFormats = 0x28

/** Returns the scanner's code of a stored type. */
function typeCodeOf(dataType: DataType): number {
  return typesByCode.indexOf(scannerTypesOfOtherTypes[dataType] ?? (dataType as ScannerType))
}

/**
 * True if a column of this type stores text. There, a quoted empty field is an empty text; in other columns it is null.
 */
const isTextType = (dataType: DataType) => ['TEXT', 'VARCHAR'].includes(typesByCode[typeCodeOf(dataType)]!)
const maskOfDateFormat = (format: DateFormat) => 1 << dateFormatsByBit.indexOf(format)

/** Returns the state of a column, in the layout of assembly/column-state.ts. */
export function columnStateOf({ bytes, run }: WasmScanner, column: number): Buffer {
  const address = run.COLUMNS.value + column * run.COLUMN_BYTES.value
  return bytes.subarray(address, address + run.COLUMN_BYTES.value)
}

/**
 * Resets the observations of all columns. A column with an entry in `declaredTypes` gets this type, and its values are
 * checked against it. The other columns are observed, so that their types can be inferred. `dayFirstOf` has the known
 * order of day and month of each column, which excludes the date formats with the other order.
 */
function resetColumns(
  wasm: WasmScanner,
  declaredTypes: readonly (ColumnType | undefined)[],
  dayFirstOf: readonly (boolean | undefined)[] = [],
): void {
  wasm.run.resetColumns(declaredTypes.length)
  for (const [column, type] of declaredTypes.entries()) {
    const state = columnStateOf(wasm, column)
    state[STATE.DATE_FORMATS] = inferableDateFormats & ~formatsOfOtherOrder(dayFirstOf[column])
    state[STATE.CHECK] = INFERRED
    if (type) setColumnType(wasm, column, type, type, false)
  }
}

/** The observations of one column since the last reset. */
export class ObservedColumn {
  readonly #state: Buffer

  constructor(wasm: WasmScanner, column: number) {
    this.#state = columnStateOf(wasm, column)
  }

  reset(): void {
    this.#state[STATE.KINDS] = 0
    this.#state[STATE.DATE_FORMATS] = inferableDateFormats
  }

  /** Bits for the kinds of the observed values, as in assembly/column-state.ts. */
  get kinds(): number {
    return this.#state[STATE.KINDS]!
  }

  /** A mask of the date formats that fit all observed values. */
  get dateFormats(): number {
    return this.#state[STATE.DATE_FORMATS]!
  }
}

/** Returns a mask of the date formats that contradict a known order of day and month, or 0 if the order is unknown. */
function formatsOfOtherOrder(isDayFirst: boolean | undefined): number {
  if (isDayFirst === undefined) return 0
  return isDayFirst ? monthFirstFormats : dayFirstFormats
}

/** True if an observed value of a column contradicts the known order of day and month. */
export function hasOtherDateOrder(wasm: WasmScanner, column: number, isDayFirst: boolean | undefined): boolean {
  return (columnStateOf(wasm, column)[STATE.PROVEN_DATE_FORMATS]! & formatsOfOtherOrder(isDayFirst)) !== 0
}

/**
 * Sets the type of a column's values, the type in which they are stored, and whether the former is inferred. Does not
 * change the observations.
 */
export function setColumnType(
  wasm: WasmScanner,
  column: number,
  type: ColumnType,
  stored: StoredType,
  isInferred: boolean,
): void {
  const hasNoValues = type.evidence === 'NOTHING' && stored.dataType !== 'TEXT'
  const typeCode = hasNoValues ? codeOfColumnWithoutValues : typeCodeOf(type.dataType)
  const isSameType = typeCode === typeCodeOf(stored.dataType)
  const areTexts = !hasNoValues && isTextType(type.dataType) && isTextType(stored.dataType)
  const isStoredWider = !isSameType && !areTexts
  // Text types differ only in their maximum length, so the shorter one applies.
  const storedType = areTexts ? shorterType(type.dataType, stored.dataType) : stored.dataType
  // If both are DECIMAL, the warehouse pads the narrower value, so the narrower limits apply.
  const storedLimits = isSameType ? type : stored
  const state = columnStateOf(wasm, column)
  state[STATE.CHECK] =
    (isInferred ? INFERRED : 0) | (isStoredWider ? STORED_WIDER : 0) | (type.hasValidJson ? VALID_JSON : 0)
  state[STATE.TYPE] = typeCode
  state[STATE.TYPE_DIGITS] = maxIntegerDigits(type)
  state[STATE.TYPE_SCALE] = maxScale(type)
  state[STATE.TYPE_DATE_FORMATS] = type.dateFormat ? maskOfDateFormat(type.dateFormat) : unambiguousDateFormats
  state[STATE.STORED_TYPE] = typeCodeOf(storedType)
  state[STATE.STORED_DIGITS] = maxIntegerDigits(storedLimits)
  state[STATE.STORED_SCALE] = maxScale(storedLimits)
  state.writeUInt16LE(maxCharacters[storedType] ?? 0, STATE.MAX_CHARACTERS)
}

/** Returns the maximum number of digits before the decimal sign, or `anyDigits` for a type without precision. */
function maxIntegerDigits({ precision, scale }: StoredType): number {
  return precision === undefined ? anyDigits : precision - (scale ?? 0)
}

/** Returns the maximum number of digits after the decimal sign, or `anyDigits` for a type without precision. */
function maxScale({ precision, scale }: StoredType): number {
  return precision === undefined ? anyDigits : (scale ?? 0)
}

/** Returns the text type with the smaller maximum length. */
function shorterType(firstType: DataType, secondType: DataType): DataType {
  const firstLength = maxCharacters[firstType] ?? Infinity
  const secondLength = maxCharacters[secondType] ?? Infinity
  return firstLength < secondLength ? firstType : secondType
}

/** Returns the narrowest type that represents all observed values of a column. */
export function inferColumnType(wasm: WasmScanner, column: number): ColumnType {
  const state = columnStateOf(wasm, column)
  const dataType = typesByCode[wasm.run.inferType(column)] as DataType
  if (dataType === 'TEXT') {
    const evidence = undecidedEvidence(state[STATE.KINDS]!, state[STATE.DATE_FORMATS]!)
    return { dataType, ...(evidence && { evidence }) }
  }
  if (dataType === 'DECIMAL') {
    const scale = state[STATE.SCALE]!
    const integerDigits = Math.max(state[STATE.INTEGER_DIGITS]!, 1)
    return { dataType, precision: Math.min(integerDigits + scale, maxPrecision), scale }
  }
  if (dataType === 'DATE' || dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ') {
    // Dates and times are inferred only if exactly one format fits all values.
    const dateFormat = dateFormatsByBit.findLast((format) => state[STATE.DATE_FORMATS]! & maskOfDateFormat(format))
    return { dataType, dateFormat: dateFormat! }
  }
  return { dataType }
}

/**
 * Returns why a column is TEXT: NOTHING if it has no values, AMBIGUOUS if all its values are dates or times and several
 * date formats fit. Returns undefined if its values are texts. Follows the rules of assembly/infer-column-type.ts.
 */
function undecidedEvidence(kinds: number, dateFormats: number): 'NOTHING' | 'AMBIGUOUS' | undefined {
  if (kinds === 0) return 'NOTHING'
  const hasZone = (kinds & timestamptzKind) !== 0
  const areTimes = (kinds & ~temporalKinds) === 0 && (!hasZone || kinds === timestamptzKind)
  const hasSeveralBits = (dateFormats & (dateFormats - 1)) !== 0
  return areTimes && hasSeveralBits ? 'AMBIGUOUS' : undefined
}

/** Copies the state of each column (kinds and sizes of observed values), for `mergeColumnStates`. */
export function copyColumnStates(wasm: WasmScanner, columnCount: number): Buffer[] {
  return Array.from({ length: columnCount }, (_, column) => Buffer.from(columnStateOf(wasm, column)))
}

/** Adds the column states of another pass over the same rows, so that types determined afterwards fit both passes. */
export function mergeColumnStates(wasm: WasmScanner, states: readonly Uint8Array[]): void {
  for (const [column, otherState] of states.entries()) {
    const state = columnStateOf(wasm, column)
    state[STATE.KINDS]! |= otherState[STATE.KINDS]!
    for (const size of [STATE.INTEGER_SIZE, STATE.INTEGER_DIGITS, STATE.SCALE])
      state[size] = Math.max(state[size]!, otherState[size]!)
    state[STATE.DATE_FORMATS]! &= otherState[STATE.DATE_FORMATS]!
    state[STATE.PROVEN_DATE_FORMATS]! |= otherState[STATE.PROVEN_DATE_FORMATS]!
  }
}

/** Restores copied column states. */
export function restoreColumnStates(wasm: WasmScanner, states: readonly Uint8Array[]): void {
  for (const [column, copiedState] of states.entries()) columnStateOf(wasm, column).set(copiedState)
}

/**
 * Pauses the observation of a column by setting the bits of all kinds of values, so that further values do not change
 * them. Returns a function that restores the bits of the kinds observed before.
 */
export function pauseObservation(wasm: WasmScanner, column: number): () => void {
  const state = columnStateOf(wasm, column)
  const kinds = state[STATE.KINDS]!
  state[STATE.KINDS] = allKinds
  return () => {
    state[STATE.KINDS] = kinds
  }
}

/** Returns the type of each column that the options set. An entry is undefined if they set none. */
export function typesFromOptions({ columns }: DelimitedDialect): (ColumnType | undefined)[] {
  return columns.map((options) => {
    const type = options && typeFromOptions(options)
    const isSetByUser = options?.declared !== true
    return type && isSetByUser ? { ...type, evidence: 'REQUESTED' } : type
  })
}

/** Returns the type from the options of a column. A date format without a type means DATE. */
function typeFromOptions({
  dataType,
  precision,
  scale,
  dateFormat,
  hasValidJson,
}: ColumnOptions): ColumnType | undefined {
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
  const declaredTypes = typesFromOptions(dialect)
  run.setDecimal(dialect.decimal)
  setNullTexts(wasm, dialect.nulls)
  resetColumns(wasm, declaredTypes, dialect.dayFirst)
  const hasDeclaredTypes = declaredTypes.some((type) => type !== undefined)
  run.configureOutput(dialect.labels.length, chunkBytes, hasDeclaredTypes ? 1 : 0)
}

/**
 * Writes the texts that mean null to the scanner's memory, each after a byte with its length. Throws SourceProblem
 * OPTIONS_NOT_USABLE if they do not fit.
 */
function setNullTexts({ run, bytes }: WasmScanner, nullTexts: readonly string[]): void {
  let address = run.NULL_TEXTS.value
  const end = address + run.NULL_TEXTS_BYTES.value
  for (const text of nullTexts) {
    const length = Buffer.byteLength(text)
    if (length > maxNullTextBytes || address + length + 1 > end) {
      throw new SourceProblem(
        'OPTIONS_NOT_USABLE',
        'The option nullValues has too many or too long texts. Remove or shorten some of them.',
      )
    }
    bytes[address] = length
    bytes.write(text, address + 1)
    address += length + 1
  }
  run.setNullTexts(nullTexts.length)
}
