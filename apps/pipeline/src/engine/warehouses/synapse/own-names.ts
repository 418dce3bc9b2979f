import type { SqlToken } from '../sql-tokens.ts'
import { tsqlTokens } from '../tsql/tokens.ts'
import { WarehouseProblem } from '../warehouse.ts'

/** Words behind which T-SQL names a table of a query. */
const opening = new Set(['from', 'join', 'apply'])
/** Words that end the list of tables. */
const closing = new Set([
  'where',
  'group',
  'having',
  'order',
  'union',
  'except',
  'intersect',
  'option',
  'select',
  'values',
])

/** What is between two parentheses. */
interface QueryLevel {
  /** Whether this is a query: FROM inside of TRIM names no table. */
  query: boolean
  /** Whether a comma is followed by another table. */
  tables: boolean
  /** Whether a table comes next. */
  expected: boolean
}

/**
 * Throws SQL_NOT_ALLOWED for a query with a table or function of a schema that does not begin with `prefix`. All clients share the pool, and
 * a view of the text is made by the service, who sees all of them. It is asked what is allowed, not what is forbidden, since the server takes more spellings of a
 * name for the same than anybody can list. Names without a schema are left to the server: no client's tables are found by those.
 */
export function assertOwnNames(query: string, prefix: string): void {
  const tokens = tsqlTokens(query)
  const levels: QueryLevel[] = [{ query: false, tables: false, expected: false }]
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!
    const level = levels.at(-1)!
    const { expected } = level
    level.expected = false
    if (token.kind === 'sign') {
      // Anything else might be nothing to the server, and stand between two parts of a name.
      if (!/[!-~]/.test(token.text) || (expected && token.text !== '(')) throw otherDatabase(token)
      // Tables that are joined may be in parentheses.
      if (token.text === '(') levels.push({ query: expected, tables: expected, expected })
      if (token.text === ')' && levels.length > 1) levels.pop()
      if (token.text === ',') level.expected = level.tables
      continue
    }
    const word = token.kind === 'word' ? token.text.toLowerCase() : ''
    // WITHIN GROUP is part of an expression.
    if (closing.has(word) && tokens[index - 1]?.text.toLowerCase() !== 'within') level.tables = false
    if (word === 'select') level.query = true
    if (opening.has(word) && level.query) {
      level.tables = true
      level.expected = true
      continue
    }
    const parts = chainAt(tokens, index)
    index += parts - 1
    if (parts === 1) continue
    const own = parts === 3 && token.text.startsWith(prefix)
    const called = tokens[index + 1]?.kind === 'sign' && tokens[index + 1]!.text === '('
    if ((expected || called) && !own) throw otherDatabase(token)
  }
}

/** How many tokens a name with points in it has. A point too many is part of it: `a..b`. */
function chainAt(tokens: readonly SqlToken[], from: number): number {
  let end = from + 1
  while (tokens[end]?.kind === 'sign' && tokens[end]!.text === '.') {
    while (tokens[end]?.kind === 'sign' && tokens[end]!.text === '.') end += 1
    if (tokens[end]?.kind === 'word' || tokens[end]?.kind === 'quoted') end += 1
  }
  return end - from
}

const otherDatabase = ({ text }: SqlToken) =>
  new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    `The query of a view reads tables and views of your own schemas only, and calls no functions of others: “${text.slice(0, 100)}” is none of them. Write schema.table, as your schemas are called here.`,
  )
