/**
 * Quotes a field of CSV if its content requires it: an empty text, because an empty field means NULL; the line `\.`,
 * which some programs take for the end of the text; and spaces at the ends.
 */
export function quoteCsvField(text: string, delimiter: ',' | ';' = ','): string {
  const needsQuotes = text === '' || text === '\\.' || text.includes(delimiter) || /["\r\n]|^\s|\s$/.test(text)
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text
}
