/** A moment so many seconds earlier, written without a zone where it was. What cannot be read stays as it is. */
export function before(moment: string, seconds: number): string {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(moment)
  const time = Date.parse(zoned ? moment : `${moment}Z`)
  if (Number.isNaN(time)) return moment
  const text = new Date(time - seconds * 1000).toISOString()
  return zoned ? text : text.slice(0, 23)
}
