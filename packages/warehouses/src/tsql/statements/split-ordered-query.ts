import type { SqlToken } from '../../sql-text/sql-tokens.ts'
import { splitQuery } from './assert-single-query.ts'
import { tsqlTokens } from './tokens.ts'

/** The parts of a query that embeds a user's query. The embedded columns are named `c1`, `c2`, …. */
export interface OrderedQuery {
  before: string
  /** The user's query as a table expression. */
  from: string
  /** The SQL after ORDER BY. Empty if the query has no order. */
  by: string
  rest: string
}

export const columnName = (index: number): string => `c${index + 1}`

/**
 * Splits a query so that an outer query can keep its row order; a server guarantees the order only for the outermost
 * query. Expressions of ORDER BY become columns: either result columns, found by name or number, or additional columns.
 * In a query with DISTINCT or UNION, ORDER BY can contain only result columns.
 */
export function splitOrderedQuery(text: string, columns: readonly { name: string }[]): OrderedQuery {
  const { before, body, ordered, orderedFrom, bounded, rest } = splitQuery(text)
  const names = columns.map((_column, index) => columnName(index))
  if (!ordered) return { before, from: `(\n${body}\n) as user_query(${names.join(', ')})`, by: '', rest }
  const begin = before.length
  const addedExpressions: string[] = []
  const by = parseOrderItems(text, orderedFrom, begin + body.length).map(({ text: expression, tokens, direction }) => {
    const selectedIndex = findSelectedColumn(tokens, columns)
    if (selectedIndex !== undefined) return `${columnName(selectedIndex)}${direction}`
    addedExpressions.push(expression)
    return `o${addedExpressions.length}${direction}`
  })
  const addedNames = addedExpressions.map((_expression, index) => `o${index + 1}`)
  const end = bounded ? begin + body.length : orderedFrom
  const selectListEnd = findSelectListEnd(text, begin, orderedFrom)
  const addedList = addedExpressions.map((expression) => `, ${expression}\n`).join('')
  const innerQuery = text.slice(begin, selectListEnd) + addedList + text.slice(selectListEnd, end)
  return {
    before,
    from: `(\n${innerQuery.trimEnd()}\n) as user_query(${[...names, ...addedNames].join(', ')})`,
    by: by.join(', '),
    rest,
  }
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

/**
 * Returns the comma-separated items of ORDER BY, up to OFFSET. String literals are not tokens, so an item is a range of
 * positions.
 */
function parseOrderItems(text: string, from: number, to: number): OrderItem[] {
  const [, by, ...tokens] = tsqlTokens(text).filter(({ start }) => start >= from && start < to)
  const items: OrderItem[] = []
  let begin = by!.end
  let depth = 0
  let itemTokens: SqlToken[] = []
  const closeItem = (end: number) => {
    const last = itemTokens.length > 1 ? itemTokens.at(-1) : undefined
    const isDescending = isWord(last, 'desc')
    const hasDirection = isDescending || isWord(last, 'asc')
    if (hasDirection) itemTokens.pop()
    if (itemTokens.length > 0)
      items.push({
        text: text.slice(begin, hasDirection ? last!.start : end).trim(),
        tokens: itemTokens,
        direction: isDescending ? ' desc' : '',
      })
    itemTokens = []
  }
  for (const token of tokens) {
    if (depth === 0 && isWord(token, 'offset')) {
      closeItem(token.start)
      return items
    }
    if (depth === 0 && isSign(token, ',')) {
      closeItem(token.start)
      begin = token.end
      continue
    }
    if (isSign(token, '(')) depth += 1
    if (isSign(token, ')')) depth -= 1
    itemTokens.push(token)
  }
  closeItem(to)
  return items
}

/** Returns the index of the result column that an ORDER BY item refers to by number or name. */
function findSelectedColumn(tokens: readonly SqlToken[], columns: readonly { name: string }[]): number | undefined {
  const [token, ...others] = tokens
  if (!token || others.length > 0 || (token.kind !== 'word' && token.kind !== 'quoted')) return undefined
  if (token.kind === 'word' && /^\d+$/.test(token.text)) return Number(token.text) - 1
  const columnIndex = columns.findIndex(({ name }) => name.toLowerCase() === token.text.toLowerCase())
  return columnIndex < 0 ? undefined : columnIndex
}

/** Returns the end of the select list: the position of its FROM, or `fallback` for a query without FROM. */
function findSelectListEnd(text: string, begin: number, fallback: number): number {
  let depth = 0
  for (const token of tsqlTokens(text)) {
    if (token.start < begin) continue
    if (depth === 0 && isWord(token, 'from')) return token.start
    if (isSign(token, '(')) depth += 1
    if (isSign(token, ')')) depth -= 1
  }
  return fallback
}
