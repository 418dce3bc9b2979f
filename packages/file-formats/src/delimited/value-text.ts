const dayMilliseconds = 86_400_000
const epoch = Date.UTC(2000, 0, 1)

/** Days since 2000-01-01 as `yyyy-mm-dd`. */
export function dateText(days: bigint): string {
  const { day, era } = dayOf(new Date(epoch + Number(days) * dayMilliseconds))
  return day + era
}

/** Microseconds since 2000-01-01 as `yyyy-mm-dd hh:mm:ss[.ffffff]`, with `+00` if it has a time zone. */
export function momentText(microseconds: bigint, zoned: boolean): string {
  const second = (microseconds - modulo(microseconds, 1_000_000n)) / 1_000_000n
  const fraction = String(modulo(microseconds, 1_000_000n)).padStart(6, '0').replace(/0+$/, '')
  const date = new Date(epoch + Number(second) * 1000)
  const { day, era } = dayOf(date)
  return `${day} ${date.toISOString().slice(-13, -5)}${fraction && `.${fraction}`}${zoned ? '+00' : ''}${era}`
}

/** With an offset, a year can have more or fewer than four digits. */
function dayOf(date: Date): { day: string; era: string } {
  const year = date.getUTCFullYear()
  const shown = String(year > 0 ? year : 1 - year).padStart(4, '0')
  return { day: shown + date.toISOString().slice(-20, -14), era: year > 0 ? '' : ' BC' }
}

const modulo = (value: bigint, by: bigint) => ((value % by) + by) % by

/** A double from the bits that order it, in PostgreSQL's shortest form. */
export function doubleText(ordered: bigint, single: boolean): string {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigInt64(0, ordered < 0n ? ordered ^ 0x7fffffffffffffffn : ordered)
  const value = view.getFloat64(0)
  const digits = single ? shortestSingle(value) : value.toExponential()
  const [mantissa, power] = [digits.slice(0, digits.indexOf('e')), Number(digits.slice(digits.indexOf('e') + 1))]
  if (Object.is(value, -0)) return '-0'
  if (value === 0) return '0'
  if (power < -4 || power >= (single ? 6 : 15)) {
    return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
  }
  return plainNotation(mantissa, power)
}

function shortestSingle(value: number): string {
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return text
  }
  return value.toExponential(8)
}

/** `-1.25`, 3 as `-1250`. */
function plainNotation(mantissa: string, power: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`
  const whole = digits.slice(0, power + 1).padEnd(power + 1, '0')
  const fraction = digits.slice(power + 1)
  return `${sign}${whole}${fraction && `.${fraction}`}`
}

/** PostgreSQL's binary numeric as digits, with the scale of its column if the column has one. */
export function numericText(bytes: Buffer, columnScale?: number): string {
  const count = bytes.readUInt16BE(0)
  const weight = bytes.readInt16BE(2)
  const scale = columnScale ?? bytes.readUInt16BE(6)
  const group = (power: number) => {
    const index = weight - power
    const there = index >= 0 && index < count && 10 + index * 2 <= bytes.length
    return String(there ? bytes.readUInt16BE(8 + index * 2) : 0).padStart(4, '0')
  }
  let whole = ''
  for (let power = Math.max(weight, 0); power >= 0; power--) whole += group(power)
  let fraction = ''
  for (let power = -1; fraction.length < scale; power--) fraction += group(power)
  const text = whole.replace(/^0+(?=\d)/, '') + (scale > 0 ? `.${fraction.slice(0, scale)}` : '')
  return bytes.readUInt16BE(4) === 0x4000 ? `-${text}` : text
}
