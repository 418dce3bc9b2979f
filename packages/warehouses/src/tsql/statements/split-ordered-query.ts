import type { SqlToken } from '../../sql-text/sql-tokens.ts'
import { splitQuery } from './assert-single-query.ts'
import { tsqlTokens } from './tokens.ts'

/** The clauses of an outer query that embeds a user's query and keeps its order. */
export interface OrderedQuery {
  /** WITH and its definitions, or an empty string. */
  withClause: string
  /** The user's query as a table expression with the columns `c1`, `c2`, …. */
  tableExpression: string
  /** The SQL after ORDER BY. Empty if the query has no order. */
  orderBy: string
  /** OPTION (…), or an empty string. */
  optionClause: string
}

/** Returns the name of a column of the embedded query: `c1` for index 0. */
export const embeddedColumnName = (index: number): string => `c${index + 1}`

/** Returns the name of a column that is added for an expression of ORDER BY: `o1` for the first one. */
const addedColumnName = (index: number): string => `o${index + 1}`

/**
 * Splits a query into the clauses of an outer query that keeps its row order. The server guarantees an order only for
 * the outermost query, so ORDER BY moves there. For example, `select name from people order by name, age desc` becomes
 * the table expression `(select name, age from people) as user_query(c1, o1)` with the order `c1, o1 desc`.
 *
 * An item of ORDER BY that is not a result column is added to the embedded query as a column. A query with DISTINCT or
 * UNION has no such items, because its ORDER BY can contain only result columns.
 */
export function splitOrderedQuery(text: string, columns: readonly { name: string }[]): OrderedQuery {
  const { withClause, body, orderByStart, isOrderEmbeddable, optionClause } = splitQuery(text)
  const names = columns.map((_column, index) => embeddedColumnName(index))
  if (orderByStart === undefined)
    return {
      withClause,
      tableExpression: `(\n${body}\n) as user_query(${names.join(', ')})`,
      orderBy: '',
      optionClause,
    }
  const bodyStart = withClause.length
  const bodyEnd = bodyStart + body.length
  const orderItems = parseOrderItems(text, orderByStart, bodyEnd)
  const { orderTerms, addedExpressions } = moveOrderItems(orderItems, columns)
  const addedNames = addedExpressions.map((_expression, index) => addedColumnName(index))
  const addedList = addedExpressions.map((expression) => `, ${expression}\n`).join('')
  const selectListEnd = findSelectListEnd(text, bodyStart, orderByStart)
  // TOP and OFFSET need the order inside too. Without them, the server rejects ORDER BY in an embedded query.
  const innerEnd = isOrderEmbeddable ? bodyEnd : orderByStart
  const innerQuery = text.slice(bodyStart, selectListEnd) + addedList + text.slice(selectListEnd, innerEnd)
  return {
    withClause,
    tableExpression: `(\n${innerQuery.trimEnd()}\n) as user_query(${[...names, ...addedNames].join(', ')})`,
    orderBy: orderTerms.join(', '),
    optionClause,
  }
}

/**
 * Returns the items of ORDER BY as terms of the outer query, which name columns of the embedded query. An item that is
 * not a result column becomes an added column: its expression is in `addedExpressions`.
 */
function moveOrderItems(items: readonly OrderItem[], columns: readonly { name: string }[]) {
  const orderTerms: string[] = []
  const addedExpressions: string[] = []
  for (const { text: expression, tokens, direction } of items) {
    const columnIndex = findSelectedColumn(tokens, columns)
    if (columnIndex !== undefined) {
      orderTerms.push(`${embeddedColumnName(columnIndex)}${direction}`)
      continue
    }
    orderTerms.push(`${addedColumnName(addedExpressions.length)}${direction}`)
    addedExpressions.push(expression)
  }
  return { orderTerms, addedExpressions }
}

interface OrderItem {
  /** The SQL of the item, without ASC or DESC. */
  text: string
  tokens: SqlToken[]
  direction: '' | ' desc'
}

const isWord = (token: SqlToken | undefined, word: string): boolean =>
  token?.kind === 'word' && token.text.toLowerCase() === word
const isSign = (token: SqlToken, sign: string): boolean => token.kind === 'sign' && token.text === sign

/** Returns the comma-separated items of the ORDER BY that starts at `from`. They end before OFFSET, or at `to`. */
function parseOrderItems(text: string, from: number, to: number): OrderItem[] {
  const [, by, ...tokens] = tsqlTokens(text).filter(({ start }) => start >= from && start < to)
  const items: OrderItem[] = []
  let itemStart = by!.end
  let itemTokens: SqlToken[] = []
  let depth = 0
  const addItem = (itemEnd: number) => {
    if (itemTokens.length > 0) items.push(parseOrderItem(text, itemTokens, itemStart, itemEnd))
    itemTokens = []
  }
  for (const token of tokens) {
    if (depth === 0 && isWord(token, 'offset')) {
      addItem(token.start)
      return items
    }
    if (depth === 0 && isSign(token, ',')) {
      addItem(token.start)
      itemStart = token.end
      continue
    }
    if (isSign(token, '(')) depth += 1
    if (isSign(token, ')')) depth -= 1
    itemTokens.push(token)
  }
  addItem(to)
  return items
}

/**
 * Splits an item of ORDER BY, from `start` to `end` in the text, into its expression and its direction. String literals
 * are not tokens, so the expression is a range of the text.
 */
function parseOrderItem(text: string, tokens: readonly SqlToken[], start: number, end: number): OrderItem {
  // A single token is an expression, even if it is named `asc` or `desc`.
  const lastToken = tokens.length > 1 ? tokens.at(-1)! : undefined
  const isDescending = isWord(lastToken, 'desc')
  const direction = isDescending ? ' desc' : ''
  const hasDirection = isDescending || isWord(lastToken, 'asc')
  if (!hasDirection) return { text: text.slice(start, end).trim(), tokens: [...tokens], direction }
  return { text: text.slice(start, lastToken!.start).trim(), tokens: tokens.slice(0, -1), direction }
}

/**
 * Returns the index of the result column that an ORDER BY item refers to by number or name. Returns undefined for any
 * other expression.
 */
function findSelectedColumn(tokens: readonly SqlToken[], columns: readonly { name: string }[]): number | undefined {
  if (tokens.length !== 1) return undefined
  const token = tokens[0]!
  if (token.kind !== 'word' && token.kind !== 'quoted') return undefined
  const isColumnNumber = token.kind === 'word' && /^\d+$/.test(token.text)
  if (isColumnNumber) return Number(token.text) - 1
  const columnIndex = columns.findIndex(({ name }) => name.toLowerCase() === token.text.toLowerCase())
  return columnIndex < 0 ? undefined : columnIndex
}

/**
 * Returns the position after the select list of the query that starts at `begin`: the position of its FROM, or
 * `endWithoutFrom` for a query without FROM.
 */
function findSelectListEnd(text: string, begin: number, endWithoutFrom: number): number {
  let depth = 0
  for (const token of tsqlTokens(text)) {
    if (token.start < begin) continue
    if (depth === 0 && isWord(token, 'from')) return token.start
    if (isSign(token, '(')) depth += 1
    if (isSign(token, ')')) depth -= 1
  }
  return endWithoutFrom
}
