import type { SqlToken } from '../../sql-text/sql-tokens.ts'
import { splitQuery } from './assert-single-query.ts'
import { tsqlTokens } from './tokens.ts'

/** Parts of a query around a user's. Its columns are `c1`, `c2` … */
export interface OrderedQuery {
  before: string
  /** The query as a table. */
  from: string
  /** The text after ORDER BY; empty if the query has no order. */
  by: string
  rest: string
}

export const columnName = (index: number): string => `c${index + 1}`

/**
 * Splits a query so that an outer query can keep its order, which a server guarantees only for the outermost query. Expressions of
 * ORDER BY become columns: existing columns, by name or number, or additional ones. With DISTINCT or UNION, ORDER BY can only
 * contain selected columns.
 */
export function splitOrderedQuery(text: string, columns: readonly { name: string }[]): OrderedQuery {
  const { before, body, ordered, orderedFrom, bounded, rest } = splitQuery(text)
  const names = columns.map((_column, index) => columnName(index))
  if (!ordered) return { before, from: `(\n${body}\n) as user_query(${names.join(', ')})`, by: '', rest }
  const begin = before.length
  const more: string[] = []
  const by = parseOrderItems(text, orderedFrom, begin + body.length).map(({ text: expression, tokens, direction }) => {
    const selected = selectedAs(tokens, columns)
    if (selected !== undefined) return `${columnName(selected)}${direction}`
    more.push(expression)
    return `o${more.length}${direction}`
  })
  const list = more.map((_expression, index) => `o${index + 1}`)
  const end = bounded ? begin + body.length : orderedFrom
  const position = listEnd(text, begin, orderedFrom)
  const inside =
    text.slice(begin, position) + more.map((expression) => `, ${expression}\n`).join('') + text.slice(position, end)
  return {
    before,
    from: `(\n${inside.trimEnd()}\n) as user_query(${[...names, ...list].join(', ')})`,
    by: by.join(', '),
    rest,
  }
}

interface OrderItem {
  /** The text of the item, without its direction. */
  text: string
  tokens: SqlToken[]
  direction: '' | ' desc'
}

const isWord = (token: SqlToken | undefined, word: string): boolean =>
  token?.kind === 'word' && token.text.toLowerCase() === word
const isSign = (token: SqlToken, sign: string): boolean => token.kind === 'sign' && token.text === sign

/** Returns the comma-separated items after ORDER BY, up to OFFSET. Strings are not tokens, so an item is a range of positions. */
function parseOrderItems(text: string, from: number, to: number): OrderItem[] {
  const [, by, ...tokens] = tsqlTokens(text).filter(({ start }) => start >= from && start < to)
  const items: OrderItem[] = []
  let [begin, depth, itemTokens] = [by!.end, 0, [] as SqlToken[]]
  const close = (end: number) => {
    const last = itemTokens.length > 1 ? itemTokens.at(-1) : undefined
    const [down, up] = [isWord(last, 'desc'), isWord(last, 'asc')]
    if (down || up) itemTokens.pop()
    if (itemTokens.length > 0)
      items.push({
        text: text.slice(begin, down || up ? last!.start : end).trim(),
        tokens: itemTokens,
        direction: down ? ' desc' : '',
      })
    itemTokens = []
  }
  for (const token of tokens) {
    if (depth === 0 && isWord(token, 'offset')) {
      close(token.start)
      return items
    }
    if (depth === 0 && isSign(token, ',')) {
      close(token.start)
      begin = token.end
      continue
    }
    if (isSign(token, '(')) depth += 1
    if (isSign(token, ')')) depth -= 1
    itemTokens.push(token)
  }
  close(to)
  return items
}

/** Returns the result column that an item refers to, by its number or name. */
function selectedAs(tokens: readonly SqlToken[], columns: readonly { name: string }[]): number | undefined {
  const [token, ...others] = tokens
  if (!token || others.length > 0 || (token.kind !== 'word' && token.kind !== 'quoted')) return undefined
  if (token.kind === 'word' && /^\d+$/.test(token.text)) return Number(token.text) - 1
  const columnIndex = columns.findIndex(({ name }) => name.toLowerCase() === token.text.toLowerCase())
  return columnIndex < 0 ? undefined : columnIndex
}

/** Returns the end of the select list: the position of its FROM. */
function listEnd(text: string, begin: number, otherwise: number): number {
  let depth = 0
  for (const token of tsqlTokens(text)) {
    if (token.start < begin) continue
    if (depth === 0 && isWord(token, 'from')) return token.start
    if (isSign(token, '(')) depth += 1
    if (isSign(token, ')')) depth -= 1
  }
  return otherwise
}
