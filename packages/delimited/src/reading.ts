import { type ColumnProfile, profiles, startProfiles } from './column-profile.ts'
import { copySeen, hasOtherOrder, mergeSeen, seenType, setColumn } from './column-state.ts'
import { type ColumnType, isSameType, type StoredType } from './column-type.ts'
import type { Dialect } from './dialect/dialect.ts'
import { lookAtSamples } from './guess.ts'
import type { Limits } from './limits.ts'
import { type Machine, startMachine } from './machine.ts'
import { findOddValues, type OddValue } from './odd-values.ts'
import { type Batch, Pass } from './pass.ts'
import { DelimitedProblem } from './problem.ts'
import { rowsOf, type Rows } from './rows.ts'
import type { TextSource } from './text-file.ts'
import { givenTypes, tellDialect } from './told.ts'

/** A column as the file has it; what it is called elsewhere is not up to the file. */
export interface ReadColumn extends ColumnType {
  label: string
}

/** Told whenever more of the file was read: how far it is read, and the rows before that. */
export type Tell = (bytes: number, rows: number) => void

/** How reading came to its end: with every row written, or with the types that hold for every row, since the guessed ones did not. */
export type Outcome = { rows: number; profiles: ColumnProfile[] } | { widened: ReadColumn[] }

/**
 * One file, read as tuples of PostgreSQL's binary COPY. Types are guessed from samples, and writing the rows is the proof: every value
 * has to fit, and every column has to hold a value that needs its type. Where the guess fails the rest is only looked at, so
 * that the types told then are exactly those of the whole file.
 */
export class Reading {
  /** As guessed; after an outcome `widened` as they are. */
  columns: ReadColumn[]
  readonly #machine: Machine
  readonly #file: TextSource
  readonly #dialect: Dialect
  readonly #limits: Limits
  /** Types that are no guess. */
  readonly #given: readonly (ColumnType | undefined)[]
  /** What the columns held in all rows, once every row was looked at. */
  #seenInAll: Buffer[] | undefined

  /** Guesses the types. */
  constructor(file: TextSource, dialect: Dialect, limits: Limits, machine: Machine = startMachine()) {
    this.#machine = machine
    this.#file = file
    this.#dialect = dialect
    this.#limits = limits
    this.#given = givenTypes(dialect)
    const rows = this.#start()
    const whole = lookAtSamples(machine, file, dialect, rows, limits)
    this.columns = this.#seen()
    if (whole) this.#seenInAll = copySeen(machine, this.columns.length)
  }

  /**
   * Writes all rows as they are `stored`, one type for each column; may be asked again from the start. A batch is to be used before the
   * next is asked for. Throws DelimitedProblem FILE_CHANGED when the file is no longer the one that was opened.
   */
  *encode(stored: readonly StoredType[], tell: Tell = () => {}): Generator<Batch, Outcome, void> {
    const { columns } = this
    const machine = this.#machine
    this.#file.assertUnchanged()
    const rows = this.#start()
    for (const [index, column] of columns.entries()) {
      setColumn(machine, index, column, stored[index]!, this.#given[index] === undefined)
    }
    machine.run.openColumns(columns.length)
    startProfiles(machine, stored)
    const pass = new Pass(
      machine,
      rows,
      columns.map(({ dataType }) => dataType),
    )
    rows.records.onRead = () => tell(rows.reader.position, pass.rows)
    const ending = yield* pass.encode()
    if (ending === 'NOT_AS_GUESSED') pass.observe(Infinity)
    this.#file.assertUnchanged()
    // A row that is refused says nothing about types, and which rows are refused depends on what is stored. Types that only ever get
    // wider come to an end.
    if (this.#seenInAll) mergeSeen(machine, this.#seenInAll)
    this.#seenInAll = copySeen(machine, columns.length)
    this.assertDateOrders()
    const seen = this.#seen()
    if (ending === 'END' && seen.every((column, index) => isSameType(column, columns[index]!))) {
      this.columns = seen
      return { rows: pass.rows, profiles: profiles(machine, stored, pass.rows - pass.rejectedRows) }
    }
    this.columns = seen
    return { widened: seen }
  }

  /** Finds columns that are TEXT because of a few odd values in the first `maxBytes` bytes. Call it after the last `encode`. */
  findOddValues(maxBytes?: number): OddValue[] {
    return findOddValues(this.#machine, this.#file, this.#dialect, this.#limits, this.columns, maxBytes)
  }

  #seen(): ReadColumn[] {
    return this.#dialect.labels.map((label, index) => ({
      label,
      ...(this.#given[index] ?? seenType(this.#machine, index)),
    }))
  }

  /** Whether the types were inferred from all rows, and not from samples. */
  get hasSeenAllRows(): boolean {
    return this.#seenInAll !== undefined
  }

  /** Throws DelimitedProblem DATE_ORDER_CHANGED if values that were seen contradict the date order of earlier files. */
  assertDateOrders(): void {
    const { dayFirst = [], labels } = this.#dialect
    const column = labels.findIndex((_, index) => hasOtherOrder(this.#machine, index, dayFirst[index]))
    if (column < 0) return
    const [now, before] = dayFirst[column] ? ['month', 'day'] : ['day', 'month']
    throw new DelimitedProblem(
      'DATE_ORDER_CHANGED',
      `Column "${labels[column]}" has the ${now} first in some of its dates, but the table has the ${before} first. Nothing was loaded, because the other dates are ambiguous. Write the dates as before.`,
      { advice: 'Alternatively, set dateFormat of the column.' },
    )
  }

  /** Opens the rows, with nothing known of their types but what is given. */
  #start(): Rows {
    tellDialect(this.#machine, this.#dialect, this.#limits.chunkBytes)
    return rowsOf(this.#file, this.#dialect, this.#limits, this.#machine.window)
  }
}
