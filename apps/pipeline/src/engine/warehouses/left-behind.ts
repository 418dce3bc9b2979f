const mostNamed = 5

/** A sentence about objects that a transformation made and left, such as `table extra`. */
export function leftBehind(objects: readonly string[]): string {
  const named = objects.slice(0, mostNamed).join(', ')
  const more = objects.length > mostNamed ? ` and ${objects.length - mostNamed} more` : ''
  return `The transformation leaves more than the loaded rows: ${named}${more}. Nothing of that is published. Make temporary tables, or drop what you made in the last statement; save a view for what is to stay.`
}
