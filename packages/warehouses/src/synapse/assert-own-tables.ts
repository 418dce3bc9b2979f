import type { SqlToken } from '../sql-text/sql-tokens.ts'
import { tsqlTokens } from '../tsql/statements/tokens.ts'
import { WarehouseProblem } from '../warehouse.ts'

/** Keywords that precede a table name in a T-SQL query. */
const tableNameKeywords = new Set(['from', 'join', 'apply'])
/** Words that end the list of tables after FROM. */
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

/** The number of tokens of a name with a schema: the schema, a dot and the name. */
const schemaNameTokens = 3

/** The parser's state for one level of parentheses. */
interface QueryLevel {
  /** False for an expression. In TRIM(x FROM y), for example, no table follows FROM. */
  isQuery: boolean
  /** True while the list of tables after FROM continues, so that a table name follows each comma. */
  isInTableList: boolean
  /** True if the next token must be a table name or an opening parenthesis. */
  expectsTable: boolean
}

/**
 * Throws SQL_NOT_ALLOWED if the query names a table or function with a schema that does not start with `prefix`. All
 * organisations share the Synapse pool, and the view is created by Sluice's user, which can read all their data.
 *
 * This is an allow list, because a deny list cannot cover every spelling that the server accepts for a name.
 * Unqualified names need no check: none of them refers to an organisation's table.
 */
export function assertOwnNames(query: string, prefix: string): void {
  const tokens = tsqlTokens(query)
  const levels: QueryLevel[] = [{ isQuery: false, isInTableList: false, expectsTable: false }]
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!
    const level = levels.at(-1)!
    const { expectsTable } = level
    level.expectsTable = false
    if (token.kind === 'sign') {
      // The server may ignore a character that is not visible ASCII, and read the parts around it as a single name.
      const isVisibleAscii = /[!-~]/.test(token.text)
      const replacesTableName = expectsTable && token.text !== '('
      if (!isVisibleAscii || replacesTableName) throw otherDatabase(token)
      // In place of a table, parentheses contain joined tables or a query. Elsewhere they contain an expression, unless
      // a SELECT makes it a query.
      if (token.text === '(') levels.push({ isQuery: expectsTable, isInTableList: expectsTable, expectsTable })
      if (token.text === ')' && levels.length > 1) levels.pop()
      if (token.text === ',') level.expectsTable = level.isInTableList
      continue
    }
    const word = token.kind === 'word' ? token.text.toLowerCase() : ''
    // WITHIN GROUP is part of an expression, so its GROUP does not end the list of tables.
    const followsWithin = tokens[index - 1]?.text.toLowerCase() === 'within'
    if (tableListTerminators.has(word) && !followsWithin) level.isInTableList = false
    if (word === 'select') level.isQuery = true
    if (tableNameKeywords.has(word) && level.isQuery) {
      level.isInTableList = true
      level.expectsTable = true
      continue
    }
    const tokenCount = countNameTokens(tokens, index)
    const isUnqualified = tokenCount === 1
    if (isUnqualified) continue
    // Continues at the last token of the name.
    index += tokenCount - 1
    const next = tokens[index + 1]
    const isFunction = next?.kind === 'sign' && next.text === '('
    const isOwn = tokenCount === schemaNameTokens && token.text.startsWith(prefix)
    if ((expectsTable || isFunction) && !isOwn) throw otherDatabase(token)
  }
}

/** Returns the number of tokens of the dotted name at `from`. Repeated dots, as in `a..b`, belong to the name. */
function countNameTokens(tokens: readonly SqlToken[], from: number): number {
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
