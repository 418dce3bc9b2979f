/** ISO 8601, to the millisecond: `PT1.204S`. Undefined while there is no end. */
export function duration(start: Date | null, end: Date | null): string | undefined {
  if (!start || !end) return undefined
  return `PT${Math.max(0, end.getTime() - start.getTime()) / 1000}S`
}
