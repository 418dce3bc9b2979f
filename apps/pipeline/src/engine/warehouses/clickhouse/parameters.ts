/** Of a number, its own, so that it is compared as a number. Everything else is text. */
export function typeOf(value: string | null): string {
  if (value === null) return 'Nullable(String)'
  if (!/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?$/.test(value)) return 'String'
  const [, fraction] = value.split('.')
  if (fraction !== undefined) return `Decimal(76, ${fraction.length})`
  return BigInt.asIntN(64, BigInt(value)) === BigInt(value) ? 'Int64' : 'Int256'
}
