/** The types that loads create in one warehouse, with the warehouse's own names. */
export interface WarehouseTypes {
  /** Digits of each integer type, from the narrowest type (16 bits) over 32 bits to the widest (64 bits). */
  integers: Readonly<Record<string, number>>
  /** Date, timestamp without a zone, and timestamp with a zone. */
  times: readonly string[]
  singleFloat: string
  doubleFloat: string
  /** Returns precision and scale, or an empty array for another type and for a decimal without declared digits. */
  readDecimal(type: string): readonly [precision?: number, scale?: number]
  /** Returns the type of a decimal with these digits, or the warehouse's substitute if it supports fewer. */
  decimal(precision: number, scale: number): string
  /** A decimal without limits, or text where each decimal has limits. */
  anyNumber: string
  /** The wider of two text types; undefined if one is not a text of declared length. Absent: all texts have one type. */
  widerText?(one: string, other: string): string | undefined
  text: string
}

/**
 * Returns the narrowest type that stores every value of both types without loss; text is the last resort. A float and an
 * integer of up to 32 bits fit into a double. A double rounds larger integers and decimals, so these become `anyNumber`.
 */
export function widenTypes(types: WarehouseTypes, one: string, other: string): string {
  if (one === other) return one
  const pair = [one, other]
  const integers = Object.keys(types.integers)
  for (const family of [integers, types.times]) {
    if (pair.every((type) => family.includes(type)))
      return family[Math.max(...pair.map((type) => family.indexOf(type)))]!
  }
  const floats = [types.singleFloat, types.doubleFloat]
  const isDecimal = (type: string) => type === types.anyNumber || types.readDecimal(type).length > 0
  const isNumber = (type: string) => floats.includes(type) || integers.includes(type) || isDecimal(type)
  if (!pair.every(isNumber)) return types.widerText?.(one, other) ?? types.text
  if (pair.some((type) => floats.includes(type))) {
    const exact = pair.every((type) => floats.includes(type) || integers.slice(0, 2).includes(type))
    return exact ? types.doubleFloat : types.anyNumber
  }
  if (pair.includes(types.anyNumber)) return types.anyNumber
  const digits = pair.map((type) => {
    const [precision = types.integers[type]!, scale = 0] = types.readDecimal(type)
    return { before: precision - scale, after: scale }
  })
  const before = Math.max(...digits.map((count) => count.before))
  const after = Math.max(...digits.map((count) => count.after))
  return types.decimal(before + after, after)
}
