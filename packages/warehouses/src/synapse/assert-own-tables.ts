import type { SqlToken } from '../sql-text/sql-tokens.ts'
import { tsqlTokens } from '../tsql/statements/tokens.ts'
import { WarehouseProblem } from '../warehouse.ts'

/** Keywords before a table name in a T-SQL query. */
const tableNameKeywords = new Set(['from', 'join', 'apply'])
/** Words that end the list of tables. */
const tableListTerminators = new Set([
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

/** The state of one level of parentheses. */
interface QueryLevel {
  /** True if this level is a query. In TRIM(x FROM y), FROM is not followed by a table. */
  query: boolean
  /** Whether another table follows a comma. */
  tables: boolean
  /** Whether the next token names a table. */
  expected: boolean
}

/**
 * Throws SQL_NOT_ALLOWED for a query with a table or function of a schema that does not begin with `prefix`. All clients share
 * the pool, and the service, which can read the data of all clients, creates a view of the text. This is an allow list, because a
 * deny list cannot cover every spelling that the server accepts for a name. The server resolves unqualified names: none of them
 * refers to a client's table.
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
      // The server may ignore any other character and read the parts around it as one name.
      if (!/[!-~]/.test(token.text) || (expected && token.text !== '(')) throw otherDatabase(token)
      // Joined tables may be in parentheses.
      if (token.text === '(') levels.push({ query: expected, tables: expected, expected })
      if (token.text === ')' && levels.length > 1) levels.pop()
      if (token.text === ',') level.expected = level.tables
      continue
    }
    const word = token.kind === 'word' ? token.text.toLowerCase() : ''
    // WITHIN GROUP is part of an expression.
    if (tableListTerminators.has(word) && tokens[index - 1]?.text.toLowerCase() !== 'within') level.tables = false
    if (word === 'select') level.query = true
    if (tableNameKeywords.has(word) && level.query) {
      level.tables = true
      level.expected = true
      continue
    }
    const parts = chainAt(tokens, index)
    index += parts - 1
    if (parts === 1) continue
    const isOwn = parts === 3 && token.text.startsWith(prefix)
    const called = tokens[index + 1]?.kind === 'sign' && tokens[index + 1]!.text === '('
    if ((expected || called) && !isOwn) throw otherDatabase(token)
  }
}

/** Returns the number of tokens of a dotted name. Repeated points, as in `a..b`, are part of the name. */
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
    `The query of a view may only use tables, views and functions of your own schemas, and “${text.slice(0, 100)}” is not one of them. Write the name as schema.table.`,
  )
