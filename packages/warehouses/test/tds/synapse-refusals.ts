import type { Refusal } from './responses.ts'

/**
 * Syntax that SQL Server accepts and a dedicated SQL pool rejects, from the pages of Microsoft that docs/decisions/0047
 * lists. Ignores strings and quoted names.
 */
const unknown: readonly (readonly [RegExp, string])[] = [
  [/\bsp_(get|release)applock\b/i, 'Could not find that stored procedure.'],
  [/\bsp_rename\b/i, 'sp_rename is for columns alone.'],
  [/\boffset\b[\s\S]*\brows?\b|\bfetch\s+(next|first)\b/i, 'OFFSET and FETCH are not supported.'],
  [/\binsert\b[\s\S]*\bexec(ute)?\b/i, 'INSERT … EXECUTE is not supported.'],
  [/^\s*with\b[\s\S]*\b(insert|update|delete|merge)\b/i, 'WITH stands before SELECT alone.'],
  [/\binsert\s+into\b[\s\S]*?\)\s*with\b/i, 'WITH stands before SELECT alone.'],
  [/\bselect\b[^;]*\binto\s+(?!\[?#)/i, 'SELECT … INTO is not supported.'],
  [/\b(primary\s+key|unique)\b(?![\s\S]*\bnot\s+enforced\b)/i, 'Keys are supported with NOT ENFORCED alone.'],
  [/\bforeign\s+key\b|\breferences\b|\bcreate\s+trigger\b/i, 'That is not supported.'],
  [/\bcreate\s+or\s+alter\b|\bif\s+exists\b(?!\s*\()/i, 'Incorrect syntax.'],
  [/\bdm_exec_describe_first_result_set\b/i, 'Invalid object name.'],
  [/\bvalues\s*\([^)]*\)\s*,/i, 'INSERT takes one row of VALUES.'],
  [/\bsave\s+tran|\bdeclare\s+\w+\s+cursor\b|\bfor\s+(xml|json)\b/i, 'That is not supported.'],
  [/^create\s+table\s+\S+\s+as\b/i, 'A table that is made of a query needs its distribution.'],
]

const definition = /^\s*(?:if\b[\s\S]*?\bis (?:not )?null\s+)?(create|alter|drop|rename|truncate|grant|revoke)\b/i

/** Why a pool refuses a statement; undefined where it does not. */
export function synapseRefusal(text: string, inTransaction: boolean): Refusal | undefined {
  const bare = text.replaceAll(/N?'(?:[^']|'')*'/g, "''").replaceAll(/\[(?:[^\]]|\]\])*\]/g, '[]')
  const known = unknown.find(([pattern]) => pattern.test(bare))
  if (known) return { number: 103_010, message: `Parse error: ${known[1]}` }
  if (/^\s*create\s+table\b/i.test(bare) && /\(max\)/i.test(bare) && !/\bheap\b/i.test(bare))
    return { number: 35_343, message: 'A column has a data type that cannot participate in a columnstore index.' }
  if (inTransaction && definition.test(bare))
    return { number: 111_212, message: 'Operation cannot be performed within a transaction.' }
  return undefined
}
