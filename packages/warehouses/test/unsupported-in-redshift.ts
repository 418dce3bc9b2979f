/** What PostgreSQL knows and Redshift refuses, in the words around quoted ones. */
const unknown: readonly (readonly [RegExp, string])[] = [
  [/\bon\s+conflict\b/i, 'ON CONFLICT is not supported'],
  [/\breturning\b/i, 'RETURNING is not supported'],
  [/\bjsonb?\b/i, 'type "json" does not exist'],
  [/\buuid\b|\bbytea\b|\bcitext\b/i, 'that type does not exist'],
  [/\w\[\s*\]/, 'arrays are not supported'],
  [/\bcreate\s+(unique\s+)?index\b/i, 'CREATE INDEX is not supported'],
  [/\bset\s+schema\b/i, 'ALTER TABLE … SET SCHEMA is not supported'],
  [/\bsavepoint\b/i, 'SAVEPOINT is not supported'],
  [/\bset_config\s*\(|\bstarts_with\s*\(|\bstring_agg\s*\(|\bstring_to_array\s*\(/i, 'that function does not exist'],
  [/\bwith\s+hold\b/i, 'WITH HOLD is not supported'],
  [/\bcopy\b[\s\S]*\b(stdin|stdout)\b/i, 'COPY from or to a client is not supported'],
  [/\bunlogged\b|\binherits\b|\bpartition\s+of\b/i, 'that kind of table is not supported'],
  [/\bcreate\s+table\b[\s\S]*\btext\b/i, 'a text of 256 bytes was hardly meant'],
  [/\bvarying\((6553[6-9]|655[4-9]\d|65[6-9]\d\d|6[6-9]\d{3}|[7-9]\d{4}|\d{6,})\)/i, 'the length is more than 65535'],
  [/\bnumeric\((39|[4-9]\d|\d{3,})/i, 'the precision is more than 38'],
]

/**
 * Returns the reason why Redshift rejects a statement; undefined if it accepts it. Redshift lower-cases quoted names
 * unless a setting is on.
 */
export function refusal(text: string, keepsCase: boolean): string | undefined {
  const bare = text.replaceAll(/'(?:[^']|'')*'/g, "''").replaceAll(/"(?:[^"]|"")*"/g, '""')
  const known = unknown.find(([pattern]) => pattern.test(bare))
  if (known) return known[1]
  const folded = /"(?:[^"]|"")*[A-Z](?:[^"]|"")*"/.test(text.replaceAll(/'(?:[^']|'')*'/g, "''"))
  return folded && !keepsCase ? 'a name would lose its capital letters' : undefined
}
