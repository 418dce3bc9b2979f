import { splitSql } from '../variables/split-sql.ts'

/** A table or view that SQL names. An unqualified name can belong to any schema. */
export interface NamedRelation {
  schema?: string
  name: string
}

interface SqlToken {
  /** `name` is an identifier or keyword, in lower case unless quoted. `mark` is any other character. */
  kind: 'name' | 'mark'
  text: string
  isQuoted: boolean
}

/** The state of the parser inside one pair of parentheses: a query or a list. */
interface SqlLevel {
  /** Whether a SELECT or DELETE came before. If not, FROM belongs to a function, such as `extract(year from day)`. */
  isQuery: boolean
  /** Whether the position is in a list of tables after FROM, where a comma is followed by another table. */
  isInFrom: boolean
  /**
   * Whether the position is in a list of common table expressions after WITH, and whether these can refer to
   * themselves.
   */
  isInWith: boolean
  isRecursive: boolean
  /** The name of the common table expression that was read last. */
  lastName: string
  /** The common table expressions to which queries at this level and inside it can refer. */
  expressions: Set<string>
  /** The name of the common table expression that this level defines. */
  defines?: string
}

const openLevel = (defines?: string): SqlLevel => ({
  isQuery: false,
  isInFrom: false,
  isInWith: false,
  isRecursive: false,
  lastName: '',
  expressions: new Set(),
  ...(defines !== undefined && { defines }),
})

/** Keywords that end a list of tables after FROM. */
const endOfFrom = new Set([
  'where',
  'group',
  'order',
  'having',
  'limit',
  'offset',
  'fetch',
  'window',
  'for',
  'returning',
  'set',
  'union',
  'except',
  'intersect',
  'select',
  'qualify',
  'settings',
  'prewhere',
])
/** Keywords that may stand between FROM or JOIN and the name of a table. */
const beforeRelation = new Set(['only', 'lateral'])

/**
 * The maximum number of open parentheses. Each name is looked up in all open levels, so deeply nested text would block
 * the process.
 */
const maxDepth = 500

/**
 * Finds the tables and views that SQL reads: the names after FROM and JOIN and in their comma-separated lists. Omits
 * names of common table expressions and functions. Never fails: invalid SQL has some result too. Stops at parentheses
 * that are nested deeper than `maxDepth`.
 */
export function relationsInSql(sql: string): NamedRelation[] {
  const tokens = splitTokens(sql)
  const relations = new Map<string, NamedRelation>()
  /** The open parentheses, innermost last. The first level is the statement. */
  let levels = [openLevel()]
  /** Whether a relation may be named next: after FROM, after JOIN, and after a comma in a list of tables. */
  let expectsRelation = false
  for (let position = 0; position < tokens.length; position += 1) {
    const token = tokens[position]!
    const level = levels.at(-1)!
    if (token.kind === 'mark') {
      if (token.text === '(' && levels.length > maxDepth) break
      if (token.text === '(') levels.push(openLevel(enterTableExpression(level, tokens[position - 1])))
      if (token.text === ')' && levels.length > 1) closeLevel(levels)
      if (token.text === ';') levels = [openLevel()]
      expectsRelation = token.text === ',' && level.isInFrom
      continue
    }
    // A quoted name is never a keyword.
    const keyword = token.isQuoted ? '' : token.text
    const isRelationName = expectsRelation && !beforeRelation.has(keyword) && !endOfFrom.has(keyword)
    if (isRelationName) {
      const { relation, end } = readRelation(tokens, position)
      const isFunction = tokens[end]?.text === '(' && tokens[end]?.kind === 'mark'
      if (!isFunction && !isTableExpression(relation, levels)) relations.set(JSON.stringify(relation), relation)
      position = end - 1
      expectsRelation = false
      continue
    }
    readWord(level, token.text, keyword)
    const startsTableList = keyword === 'from' && level.isQuery && !followsDistinctFrom(tokens, position)
    if (startsTableList) level.isInFrom = true
    const isBeforeRelation: boolean = expectsRelation && beforeRelation.has(keyword)
    expectsRelation = startsTableList || keyword === 'join' || isBeforeRelation
  }
  return [...relations.values()]
}

/** Updates a level after a word that names no relation. `keyword` is empty if the word is quoted. */
function readWord(level: SqlLevel, word: string, keyword: string): void {
  if (level.isInWith && !inExpressionHead.has(keyword)) level.lastName = word
  if (level.isInWith && keyword === 'recursive') level.isRecursive = true
  if (keyword === 'with' && !level.isQuery) level.isInWith = true
  if (keyword === 'select' || keyword === 'delete') {
    level.isQuery = true
    level.isInWith = false
  }
  if (endOfFrom.has(keyword)) level.isInFrom = false
}

const isTableExpression = ({ schema, name }: NamedRelation, levels: readonly SqlLevel[]): boolean =>
  schema === undefined && levels.some(({ expressions }) => expressions.has(name))

/**
 * Keywords between WITH and the query of a common table expression. Any other word there is the name of the expression.
 */
const inExpressionHead = new Set(['as', 'not', 'materialized', 'recursive', 'with'])

/**
 * Returns the name of the common table expression that starts at this parenthesis, as in `name as (` and `name
 * (columns) as materialized (`. Returns undefined at any other parenthesis. After WITH RECURSIVE, the expression is
 * visible in its own query.
 */
function enterTableExpression(level: SqlLevel, previousToken: SqlToken | undefined): string | undefined {
  const previousKeyword = previousToken?.kind === 'name' && !previousToken.isQuoted ? previousToken.text : ''
  const isQueryNext = ['as', 'materialized'].includes(previousKeyword)
  if (!level.isInWith || !isQueryNext) return undefined
  if (level.isRecursive) level.expressions.add(level.lastName)
  return level.lastName
}

/**
 * Ends a level. A common table expression becomes visible only after its own query, which can therefore read a table of
 * the same name.
 */
function closeLevel(levels: SqlLevel[]): void {
  const { defines } = levels.pop()!
  if (defines !== undefined) levels.at(-1)!.expressions.add(defines)
}

/** Splits SQL into names and marks, without comments and white space. */
function splitTokens(sql: string): SqlToken[] {
  return [...splitSql(sql)].flatMap(({ kind, text }): SqlToken[] => {
    if (kind === 'comment' || text.trim() === '') return []
    if (kind === 'quoted name') return [{ kind: 'name', text: text.slice(1, -1).replaceAll('""', '"'), isQuoted: true }]
    if (kind === 'word') return [{ kind: 'name', text: text.toLowerCase(), isQuoted: false }]
    return [{ kind: 'mark', text, isQuoted: false }]
  })
}

/** Parses `name`, `schema.name` or `database.schema.name`. `end` is the index of the token after it. */
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

/** Returns whether FROM is part of the comparison `a is [not] distinct from b`. */
function followsDistinctFrom(tokens: readonly SqlToken[], position: number): boolean {
  return tokens[position - 1]?.text === 'distinct' && ['is', 'not'].includes(tokens[position - 2]?.text ?? '')
}
