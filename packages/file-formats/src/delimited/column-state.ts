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

/** Positions in the state of a column, whose layout assembly/column-state.ts describes. */
const STATE = {
  KINDS: 0,
  INTEGER_SIZE: 1,
  INTEGER_DIGITS: 2,
  SCALE: 3,
  SPELLINGS: 4,
  STORED_TYPE: 5,
  CHECK: 6,
  TYPE: 7,
  TYPE_DIGITS: 8,
  TYPE_SCALE: 9,
  TYPE_SPELLINGS: 10,
  STORED_DIGITS: 11,
  STORED_SCALE: 12,
  DECIDED_SPELLINGS: 13,
  MAX_CHARACTERS: 14,
} as const

const INFERRED = 1
const STORED_WIDER = 2
const VALID_JSON = 4

/** Masks of date spellings: all that are recognised, and those that a single value can prove. */
const inferredSpellings = 0x7f
const unambiguousSpellings = 0x07
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
    state[STATE.SPELLINGS] = inferredSpellings & ~otherOrder(dayFirstOf[column])
    state[STATE.CHECK] = INFERRED
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
    this.#state[STATE.KINDS] = 0
    this.#state[STATE.SPELLINGS] = inferredSpellings
  }

  get kinds(): number {
    return this.#state[STATE.KINDS]!
  }

  get spellings(): number {
    return this.#state[STATE.SPELLINGS]!
  }
}

const otherOrder = (isDayFirst: boolean | undefined): number =>
  isDayFirst === undefined ? 0 : isDayFirst ? monthFirst : dayFirst

/** True if a value contradicts the known order of day and month of its column. */
export function hasOtherDateOrder(wasm: WasmScanner, column: number, isDayFirst: boolean | undefined): boolean {
  return (columnStateOf(wasm, column)[STATE.DECIDED_SPELLINGS]! & otherOrder(isDayFirst)) !== 0
}

/** Sets a column's type, its stored type, and whether the type is inferred. Keeps the observations. */
export function setColumn(
  wasm: WasmScanner,
  column: number,
  type: ColumnType,
  stored: StoredType,
  isInferred: boolean,
): void {
  const state = columnStateOf(wasm, column)
  const typeCode = type.evidence === 'NOTHING' && stored.dataType !== 'TEXT' ? nothingCode : stateCodeOf(type.dataType)
  const isSameType = typeCode === stateCodeOf(stored.dataType)
  // Text types differ only in their maximum length, so the shorter one applies.
  const areTexts = typeCode !== nothingCode && isTextType(type.dataType) && isTextType(stored.dataType)
  state[STATE.STORED_TYPE] = stateCodeOf(areTexts ? shorterType(type.dataType, stored.dataType) : stored.dataType)
  state[STATE.CHECK] =
    (isInferred ? INFERRED : 0) | (isSameType || areTexts ? 0 : STORED_WIDER) | (type.hasValidJson ? VALID_JSON : 0)
  state[STATE.TYPE] = typeCode
  state[STATE.TYPE_DIGITS] = packedDigits(type)
  state[STATE.TYPE_SCALE] = type.precision === undefined ? anyDigits : (type.scale ?? 0)
  state[STATE.TYPE_SPELLINGS] = type.dateFormat ? spellingOf(type.dateFormat) : unambiguousSpellings
  // If both are DECIMAL, the warehouse pads the narrower value, so the narrower limits apply.
  const limits = isSameType ? type : stored
  state[STATE.STORED_DIGITS] = packedDigits(limits)
  state[STATE.STORED_SCALE] = limits.precision === undefined ? anyDigits : (limits.scale ?? 0)
  state.writeUInt16LE(
    areTexts
      ? (maxCharacters[shorterType(type.dataType, stored.dataType)] ?? 0)
      : (maxCharacters[stored.dataType] ?? 0),
    STATE.MAX_CHARACTERS,
  )
}

function packedDigits({ precision, scale }: StoredType): number {
  return precision === undefined ? anyDigits : precision - (scale ?? 0)
}

function shorterType(one: DataType, other: DataType): DataType {
  return (maxCharacters[one] ?? Infinity) < (maxCharacters[other] ?? Infinity) ? one : other
}

/** Returns the narrowest type that represents all observed values of a column. */
export function seenType(wasm: WasmScanner, column: number): ColumnType {
  const state = columnStateOf(wasm, column)
  const dataType = stateCodes[wasm.run.columnType(column)] as DataType
  if (dataType === 'TEXT') {
    const evidence = undecidedEvidence(state[STATE.KINDS]!, state[STATE.SPELLINGS]!)
    return { dataType, ...(evidence && { evidence }) }
  }
  if (dataType === 'DECIMAL') {
    const scale = state[STATE.SCALE]!
    return { dataType, precision: Math.min(Math.max(state[STATE.INTEGER_DIGITS]!, 1) + scale, maxPrecision), scale }
  }
  if (dataType === 'DATE' || dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ') {
    return { dataType, dateFormat: dateSpellings[31 - Math.clz32(state[STATE.SPELLINGS]!)]! }
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
  for (const [column, before] of states.entries()) {
    const state = columnStateOf(wasm, column)
    state[STATE.KINDS]! |= before[STATE.KINDS]!
    for (const size of [STATE.INTEGER_SIZE, STATE.INTEGER_DIGITS, STATE.SCALE])
      state[size] = Math.max(state[size]!, before[size]!)
    state[STATE.SPELLINGS]! &= before[STATE.SPELLINGS]!
    state[STATE.DECIDED_SPELLINGS]! |= before[STATE.DECIDED_SPELLINGS]!
  }
}

/** Restores copied column states. */
export function restoreColumnStates(wasm: WasmScanner, states: readonly Uint8Array[]): void {
  for (const [column, before] of states.entries()) columnStateOf(wasm, column).set(before)
}

/** Stops observing a column. Returns a function that resumes it. */
export function closeColumn(wasm: WasmScanner, column: number): () => void {
  const state = columnStateOf(wasm, column)
  const kinds = state[STATE.KINDS]!
  state[STATE.KINDS] = everyKind
  return () => {
    state[STATE.KINDS] = kinds
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
