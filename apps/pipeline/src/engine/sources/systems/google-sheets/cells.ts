import { isExact } from '../tables/exact-numbers.ts'
import type { Value } from '../tables/flatten.ts'

/** Cells by their places, undefined where they hold nothing. */
export type Row = readonly (Value | undefined)[]

/** A cell as the API gives it. */
interface Cell {
  effectiveValue?: { numberValue?: unknown; stringValue?: unknown; boolValue?: unknown }
  effectiveFormat?: { numberFormat?: { type?: unknown } }
}

const dayLength = 86_400_000
/** Serial 0. Google counts from it evenly, as Excel does not. */
const dayZero = Date.UTC(1899, 11, 30)
/** The days that have four digits for their year. */
const [firstDay, lastDay] = [-693_593, 2_958_465]

/** What is in a cell: undefined for nothing, an empty text, and errors such as #N/A. */
export function valueOf(cell: unknown): Value | undefined {
  const { effectiveValue, effectiveFormat } = (cell ?? {}) as Cell
  const { numberValue, stringValue, boolValue } = effectiveValue ?? {}
  if (typeof stringValue === 'string') return stringValue === '' ? undefined : stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (typeof numberValue !== 'number' && !(typeof numberValue === 'object' && numberValue && isExact(numberValue)))
    return undefined
  return asShown(Number(JSON.stringify(numberValue)), effectiveFormat?.numberFormat?.type) ?? numberValue
}

/** A number that is shown as a day or a time; undefined where it is a number. Only its format tells. */
function asShown(serial: number, type: unknown): string | undefined {
  if (type !== 'DATE' && type !== 'TIME' && type !== 'DATE_TIME') return undefined
  const total = Math.round(serial * dayLength)
  const day = Math.floor(total / dayLength)
  const clock = clockOf(total - day * dayLength)
  // A duration of a day or more is no time of a day.
  if (type === 'TIME') return day === 0 ? clock : undefined
  if (day < firstDay || day > lastDay) return undefined
  const date = new Date(dayZero + day * dayLength).toISOString().slice(0, 10)
  return type === 'DATE' && clock === '00:00:00' ? date : `${date} ${clock}`
}

function clockOf(time: number): string {
  const text = new Date(time).toISOString().slice(11, 23)
  return text.endsWith('.000') ? text.slice(0, 8) : text
}

/** What columns are called, by their places: as the row of names says, what it says twice with a number, and `column_n` where it says nothing. */
export function namesOf(header: Row, taken: readonly string[]): (index: number) => string {
  const names: string[] = []
  const used = new Set(taken)
  return (index) => {
    while (names.length <= index) {
      const cell = header[names.length] ?? ''
      const said = (typeof cell === 'string' ? cell.trim() : JSON.stringify(cell)) || `column_${names.length + 1}`
      let name = said
      for (let times = 2; used.has(name); times += 1) name = `${said}_${times}`
      used.add(name)
      names.push(name)
    }
    return names[index]!
  }
}
