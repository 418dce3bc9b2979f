import type { DataType } from '@sluice/contracts'
import type { ColumnType, StoredType } from './column-type.ts'
import type { DateFormat } from './dialect/delimited-options.ts'
import type { WasmScanner } from './wasm-scanner.ts'

/** What a column is written as, in the order of assembly/columns.ts. */
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

/** How days are written, by bit, in the order of assembly/dates.ts. */
const dateSpellings: readonly DateFormat[] = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'MM/DD/YYYY',
  'DD-MM-YYYY',
  'MM-DD-YYYY',
  'YYYYMMDD',
]

const PROVEN = 1
const APART = 2

/** All spellings that are looked for, and those that can be told apart in a single value. */
const inferred = 0x7f
const unmistakable = 0x07
const maxPrecision = 38
const everyKind = 0xff
const anyDigits = 255
/** What only a guess can be: a column without values. */
const nothing = 13

const timeKinds = 0x70
const zonedKind = 0x40
/** The spellings of days that are not those of a column which is known to have the day first, or the month. */
const monthFirst = 0x50
const dayFirst = 0x28

function stateCodeOf(dataType: DataType): number {
  return stateCodes.indexOf(codesOfOtherTypes[dataType] ?? (dataType as StateCode))
}

/** Whether columns of this type hold texts, so that an empty field in quotes is the empty text; it is null in every other. */
export const isText = (dataType: DataType) => ['TEXT', 'VARCHAR'].includes(stateCodes[stateCodeOf(dataType)]!)
const spellingOf = (format: DateFormat) => 1 << dateSpellings.indexOf(format)

/** Bytes of the state of a column, as assembly/columns.ts has them. */
function columnStateOf({ bytes, run }: WasmScanner, column: number): Buffer {
  const at = run.COLUMNS.value + column * run.COLUMN_BYTES.value
  return bytes.subarray(at, at + run.COLUMN_BYTES.value)
}

/** Forgets what all columns have held. `given` types are held against rows at once; the others are to be observed. */
export function resetColumns(
  machine: WasmScanner,
  given: readonly (ColumnType | undefined)[],
  dayFirstOf: readonly (boolean | undefined)[] = [],
): void {
  machine.run.forgetColumns(given.length)
  for (const [column, type] of given.entries()) {
    const state = columnStateOf(machine, column)
    state[4] = inferred & ~otherOrder(dayFirstOf[column])
    state[6] = PROVEN
    if (type) setColumn(machine, column, type, type, false)
  }
}

/** The values of one column since the last `reset`: their kinds, and the date spellings that fit all of them, as bits. */
export class SeenValues {
  readonly #state: Buffer

  constructor(machine: WasmScanner, column: number) {
    this.#state = columnStateOf(machine, column)
  }

  reset(): void {
    this.#state[0] = 0
    this.#state[4] = inferred
  }

  get kinds(): number {
    return this.#state[0]!
  }

  get spellings(): number {
    return this.#state[4]!
  }
}

const otherOrder = (isDayFirst: boolean | undefined): number =>
  isDayFirst === undefined ? 0 : isDayFirst ? monthFirst : dayFirst

/** Whether some value has day and month in another order than the column is known to have. */
export function hasOtherDateOrder(machine: WasmScanner, column: number, isDayFirst: boolean | undefined): boolean {
  return (columnStateOf(machine, column)[13]! & otherOrder(isDayFirst)) !== 0
}

/** What a column is taken to be, whether that is a guess, and what it is stored as. What it has held stays known. */
export function setColumn(
  machine: WasmScanner,
  column: number,
  type: ColumnType,
  stored: StoredType,
  guessed: boolean,
): void {
  const state = columnStateOf(machine, column)
  const taken = type.evidence === 'NOTHING' && stored.dataType !== 'TEXT' ? nothing : stateCodeOf(type.dataType)
  const alike = taken === stateCodeOf(stored.dataType)
  // Two lengths of text differ only in what is refused: the shorter decides.
  const texts = taken !== nothing && isText(type.dataType) && isText(stored.dataType)
  state[5] = stateCodeOf(texts ? shorterType(type.dataType, stored.dataType) : stored.dataType)
  state[6] = (guessed ? PROVEN : 0) | (alike || texts ? 0 : APART)
  state[7] = taken
  state[8] = packedDigits(type)
  state[9] = type.precision === undefined ? anyDigits : (type.scale ?? 0)
  state[10] = type.dateFormat ? spellingOf(type.dateFormat) : unmistakable
  // Where both are DECIMAL the warehouse pads what is narrower.
  const limits = alike ? type : stored
  state[11] = packedDigits(limits)
  state[12] = limits.precision === undefined ? anyDigits : (limits.scale ?? 0)
  state.writeUInt16LE(
    texts ? (maxCharacters[shorterType(type.dataType, stored.dataType)] ?? 0) : (maxCharacters[stored.dataType] ?? 0),
    14,
  )
}

function packedDigits({ precision, scale }: StoredType): number {
  return precision === undefined ? anyDigits : precision - (scale ?? 0)
}

function shorterType(one: DataType, other: DataType): DataType {
  return (maxCharacters[one] ?? Infinity) < (maxCharacters[other] ?? Infinity) ? one : other
}

/** The narrowest type that holds all that a column has held. */
export function seenType(machine: WasmScanner, column: number): ColumnType {
  const state = columnStateOf(machine, column)
  const dataType = stateCodes[machine.run.columnType(column)] as DataType
  if (dataType === 'TEXT') {
    const evidence = undecidedEvidence(state[0]!, state[4]!)
    return { dataType, ...(evidence && { evidence }) }
  }
  if (dataType === 'DECIMAL') {
    const scale = state[3]!
    return { dataType, precision: Math.min(Math.max(state[2]!, 1) + scale, maxPrecision), scale }
  }
  if (dataType === 'DATE' || dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ') {
    return { dataType, dateFormat: dateSpellings[31 - Math.clz32(state[4]!)]! }
  }
  return { dataType }
}

/** Text that says nothing of what the column is, as assembly/type-of.ts judges it. */
function undecidedEvidence(kinds: number, spellings: number): 'NOTHING' | 'AMBIGUOUS' | undefined {
  if (kinds === 0) return 'NOTHING'
  const areTimes = (kinds & ~timeKinds) === 0 && ((kinds & zonedKind) === 0 || kinds === zonedKind)
  return areTimes && (spellings & (spellings - 1)) !== 0 ? 'AMBIGUOUS' : undefined
}

/** What all columns have held, as `mergeSeen` takes it. */
export function copySeenValues(machine: WasmScanner, columns: number): Buffer[] {
  return Array.from({ length: columns }, (_, column) => Buffer.from(columnStateOf(machine, column)))
}

/** Adds what another pass over the same rows has seen: types that are told from now on hold for both. */
export function mergeSeenValues(machine: WasmScanner, seen: readonly Buffer[]): void {
  for (const [column, before] of seen.entries()) {
    const state = columnStateOf(machine, column)
    state[0]! |= before[0]!
    for (const place of [1, 2, 3]) state[place] = Math.max(state[place]!, before[place]!)
    state[4]! &= before[4]!
    state[13]! |= before[13]!
  }
}

/** Lets a column not be looked at, as if it could only be TEXT, until what is answered is called. */
export function closeColumn(machine: WasmScanner, column: number): () => void {
  const state = columnStateOf(machine, column)
  const kinds = state[0]!
  state[0] = everyKind
  return () => {
    state[0] = kinds
  }
}

/** What the tuples of a stored type hold, as the profile's code. */
export const profileCode = (dataType: DataType): number => stateCodeOf(dataType)
