/** A 64-bit integer in two halves, read without allocating an object. */
export interface Int64Halves {
  low: Int32Array
  high: Int32Array
}

const two32 = 4294967296
/** 24 November 4714 BC, where PostgreSQL's calendar begins; its end exceeds the range of 64-bit microseconds. */
const firstMicrosecond = -210_866_803_200_000_000
const microsecondsOfDay = 86_400_000_000
const unixJulianDay = 2_440_588
export const firstDay = -unixJulianDay
export const endOfDates = 2_145_042_906
export const endOfTimestampDays = 106_762_940

export const outOfRange = (value: number | bigint, unit: string) =>
  `is ${value} ${unit} from 1970, a time that the warehouse’s calendar does not reach`

export function storeWhole(halves: Int64Halves, row: number, value: number): void {
  const high = Math.floor(value / two32)
  halves.high[row] = high
  halves.low[row] = value - high * two32
}

function storeBig(halves: Int64Halves, row: number, value: bigint): boolean {
  if (value >= 2n ** 63n || value < BigInt(firstMicrosecond)) return false
  halves.high[row] = Number(value >> 32n)
  halves.low[row] = Number(BigInt.asIntN(32, value))
  return true
}

/** Converts units since 1970 to microseconds; returns false if PostgreSQL cannot store the timestamp. */
export function storeMoment(halves: Int64Halves, row: number, low: number, high: number, perSecond: number): boolean {
  if (perSecond === 1_000_000_000) {
    // (high * 2^32 + low) / 1000, rounded down, in numbers that stay exact.
    const quotient = Math.floor(high / 1000)
    halves.high[row] = quotient
    halves.low[row] = Math.floor(((high - quotient * 1000) * two32 + (low >>> 0)) / 1000)
    return true
  }
  if (perSecond === 1_000_000) {
    halves.high[row] = high
    halves.low[row] = low
    return high * two32 + (low >>> 0) >= firstMicrosecond
  }
  const milliseconds = high * two32 + (low >>> 0)
  // 2^53 microseconds are 285 years.
  if (milliseconds > -9e12 && milliseconds < 9e12) storeWhole(halves, row, milliseconds * 1000)
  else return storeBig(halves, row, ((BigInt(high) << 32n) | BigInt(low >>> 0)) * 1000n)
  return true
}

/** Whether nanoseconds are not a whole number of microseconds. */
export function isFiner(low: number, high: number): boolean {
  const rest = high - Math.floor(high / 1000) * 1000
  return (rest * two32 + (low >>> 0)) % 1000 !== 0
}

/** Converts Impala's timestamps: nanoseconds of the day and the Julian day. */
export function storeJulian(halves: Int64Halves, row: number, low: number, high: number, julianDay: number): boolean {
  const ofDay = Math.floor((high * two32 + (low >>> 0)) / 1000)
  const days = julianDay - unixJulianDay
  if (days > -100_000 && days < 100_000 && ofDay < 1e12) storeWhole(halves, row, days * microsecondsOfDay + ofDay)
  else return storeBig(halves, row, BigInt(days) * BigInt(microsecondsOfDay) + BigInt(ofDay))
  return true
}
