import { splitSql } from '../variables/split-sql.ts'

/** A table or view that SQL names. Without a schema, the name can be of any schema. */
export interface NamedRelation {
  schema?: string
  name: string
}

interface SqlToken {
  /** `name`: an identifier or a keyword, in lower case unless quoted. `mark`: any other character. */
  kind: 'name' | 'mark'
  text: string
  isQuoted: boolean
}

/** A query or a list in parentheses. */
interface SqlLevel {
  /** Whether a SELECT or DELETE came before. Without one, FROM belongs to a function such as `extract(year from day)`. */
  isQuery: boolean
  /** Whether the position is in a list of tables after FROM, in which a comma precedes another table. */
  isInFrom: boolean
}

const endOfFrom = new Set([
  ...['where', 'group', 'order', 'having', 'limit', 'offset', 'fetch', 'window', 'for', 'returning', 'set'],
  ...['union', 'except', 'intersect', 'select', 'qualify', 'settings', 'prewhere'],
])
const beforeRelation = new Set(['only', 'lateral'])

/**
 * Finds the tables and views that SQL reads: the names after FROM, JOIN, and a comma between them. Names of common table expressions and
 * functions are left out. It never fails: SQL that no server accepts has some result.
 */
export function relationsInSql(sql: string): NamedRelation[] {
  const tokens = tokensOf(sql)
  const expressions = commonTableExpressions(tokens)
  const found = new Map<string, NamedRelation>()
  const levels: SqlLevel[] = [{ isQuery: false, isInFrom: false }]
  let isRelationNext = false
  for (let at = 0; at < tokens.length; at += 1) {
    const { kind, text, isQuoted } = tokens[at]!
    const level = levels.at(-1)!
    if (kind === 'mark') {
      if (text === '(') levels.push({ isQuery: false, isInFrom: false })
      if (text === ')' && levels.length > 1) levels.pop()
      if (text === ';') levels.splice(0, levels.length, { isQuery: false, isInFrom: false })
      isRelationNext = text === ',' && level.isInFrom
      continue
    }
    const keyword = isQuoted ? '' : text
    if (isRelationNext && !beforeRelation.has(keyword) && !endOfFrom.has(keyword)) {
      const { relation, end } = readRelation(tokens, at)
      const isFunction = tokens[end]?.text === '(' && tokens[end]?.kind === 'mark'
      const isExpression = relation.schema === undefined && expressions.has(relation.name)
      if (!isFunction && !isExpression) found.set(JSON.stringify(relation), relation)
      at = end - 1
      isRelationNext = false
      continue
    }
    if (keyword === 'select' || keyword === 'delete') level.isQuery = true
    if (endOfFrom.has(keyword)) level.isInFrom = false
    const opensFrom = keyword === 'from' && level.isQuery && !followsDistinctFrom(tokens, at)
    if (opensFrom) level.isInFrom = true
    isRelationNext = opensFrom || keyword === 'join' || (isRelationNext && beforeRelation.has(keyword))
  }
  return [...found.values()]
}

function tokensOf(sql: string): SqlToken[] {
  return [...splitSql(sql)].flatMap(({ kind, text }): SqlToken[] => {
    if (kind === 'comment' || text.trim() === '') return []
    if (kind === 'quoted name')
      return [{ kind: 'name', text: text.slice(1, -1).replaceAll('""', '"'), isQuoted: true }]
    if (kind === 'word') return [{ kind: 'name', text: text.toLowerCase(), isQuoted: false }]
    return [{ kind: 'mark', text, isQuoted: false }]
  })
}

/** Reads `name`, `schema.name` or `database.schema.name`. `end` is the index of the token after it. */
function readRelation(tokens: readonly SqlToken[], start: number): { relation: NamedRelation; end: number } {
  const names = [tokens[start]!.text]
  let end = start + 1
  while (tokens[end]?.text === '.' && tokens[end + 1]?.kind === 'name') {
    names.push(tokens[end + 1]!.text)
    end += 2
  }
  const schema = names.at(-2)
  return { relation: { ...(schema !== undefined && { schema }), name: names.at(-1)! }, end }
}

/** Whether FROM is part of the comparison `a is [not] distinct from b`. */
function followsDistinctFrom(tokens: readonly SqlToken[], at: number): boolean {
  return tokens[at - 1]?.text === 'distinct' && ['is', 'not'].includes(tokens[at - 2]?.text ?? '')
}

/** Returns the names of common table expressions: `name as (`, `name as materialized (`, `name (columns) as (`. */
function commonTableExpressions(tokens: readonly SqlToken[]): Set<string> {
  const names = new Set<string>()
  const opened: number[] = []
  let lastGroupStart = -1
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === 'mark' && text === '(') {
      const before = tokens.slice(Math.max(0, at - 3), at).map((token) => token.text)
      const asAt = before.lastIndexOf('as')
      const between = before.slice(asAt + 1)
      if (asAt >= 0 && between.every((word) => word === 'not' || word === 'materialized')) {
        const nameAt = at - before.length + asAt - 1
        const name = tokens[nameAt]?.text === ')' ? tokens[lastGroupStart - 1] : tokens[nameAt]
        if (name?.kind === 'name') names.add(name.text)
      }
      opened.push(at)
    }
    if (kind === 'mark' && text === ')') lastGroupStart = opened.pop() ?? -1
  }
  return names
}
