export { identifiers } from '../engine/sources/files/csv/identifiers.ts'

/** What is wrong with a name that is to be a schema's or table's own in the warehouse; undefined when nothing is. */
export function identifierProblem(name: string): string | undefined {
  if (!/^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(name))
    return `"${name}" is not usable in the warehouse: start with a letter, then letters, digits and _ only.`
  if (name !== name.toLowerCase()) return `"${name}" has capitals: names in the warehouse are lower case.`
  if (Buffer.byteLength(name) > 63) return `"${name}" is longer than 63 bytes.`
  if (/^pg_|^(sluice|public|information_schema)$/.test(name))
    return `"${name}" is reserved by the warehouse: choose another name.`
  return undefined
}
