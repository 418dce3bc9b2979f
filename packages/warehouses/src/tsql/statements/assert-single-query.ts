import { assertPlainComments, type SqlToken } from '../../sql-text/sql-tokens.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import { tsqlTokens } from './tokens.ts'

/**
 * Keywords that a query contains only inside quotes, because the server reserves them for statements. T-SQL needs no
 * separator between statements, so the check covers every position.
 */
const statementKeywords = new Set(
  `alter backup begin break bulk checkpoint close commit continue create dbcc deallocate declare delete deny disk drop dump exec execute exit
  external freetexttable goto grant if insert into kill load lineno nocheck open opendatasource openquery openrowset openxml print proc procedure raiserror read readtext
  reconfigure restore return revert revoke rollback rowguidcol rule save set setuser shutdown textsize tran transaction trigger truncate
  tsequal update updatetext use waitfor while writetext`.split(/\s+/),
)

/**
 * Throws SQL_NOT_ALLOWED unless the text is a single query: SELECT, or WITH … SELECT. The server's rights limit what
 * the query may read. This check prevents a second statement, a wait, and a write to a place that all users can write
 * to.
 */
export function assertSingleQuery(text: string): void {
  assertPlainComments(text)
  const tokens = tsqlTokens(text)
  const [first] = tokens
  const startsWithParenthesis = first?.text === '('
  const startsWithKeyword = first?.kind === 'word' && /^(select|with)$/i.test(first.text)
  if (!startsWithKeyword && !startsWithParenthesis) throw notASingleQuery()
  /** The number of open parentheses. */
  let depth = 0
  /** The number of SELECTs outside parentheses. */
  let selectCount = 0
  /** True if a SELECT may follow: at the start, and after UNION, EXCEPT or INTERSECT. */
  let maySelectFollow = true
  for (const [index, token] of tokens.entries()) {
    if (token.kind === 'sign') {
      if (token.text === '(') depth += 1
      if (token.text === ')') depth -= 1
      if (depth < 0 || token.text === ';') throw notASingleQuery()
    }
    if (token.kind !== 'word') continue
    if (isForbidden(token, tokens[index + 1])) throw forbiddenWord(token)
    if (depth > 0) continue
    const word = token.text.toLowerCase()
    if (word === 'union' || word === 'except' || word === 'intersect') maySelectFollow = true
    if (word === 'select') {
      if (!maySelectFollow) throw notASingleQuery()
      maySelectFollow = false
      selectCount += 1
    }
  }
  if (selectCount === 0 && !startsWithParenthesis) throw notASingleQuery()
}

/** True for a word that no query may contain without quotes. `next` is the token after the word. */
function isForbidden({ text }: SqlToken, next: SqlToken | undefined): boolean {
  const word = text.toLowerCase()
  const isTemporaryTable = word.startsWith('#')
  const isSystemVariable = word.startsWith('@@')
  if (statementKeywords.has(word) || isTemporaryTable || isSystemVariable) return true
  // `predict` and `next` may also be names.
  const runsStoredModel = word === 'predict' && next?.text === '('
  const advancesSequence = word === 'next' && next?.text.toLowerCase() === 'value'
  return runsStoredModel || advancesSequence
}

const notASingleQuery = () =>
  new WarehouseProblem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT or WITH … SELECT.')

const forbiddenWord = ({ text }: SqlToken) =>
  new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    `The keyword ${text.toUpperCase().slice(0, 100)} is not allowed in a query. If it is a name, write it in brackets: [${text.slice(0, 100)}].`,
  )

/**
 * The clauses of a query. To embed the query in another one, WITH, ORDER BY and OPTION must move to the outer query.
 */
export interface QueryClauses {
  /** WITH and its definitions, or an empty string. */
  withClause: string
  /** The query between WITH and OPTION, with its ORDER BY. */
  body: string
  /** The position of ORDER BY in the text of the query. Undefined if the query has no order. */
  orderByStart: number | undefined
  /** True if the query has TOP or OFFSET. Then the server accepts its ORDER BY in an embedded query. */
  isOrderEmbeddable: boolean
  /** OPTION (…), or an empty string. */
  optionClause: string
}

/** Splits a query into its WITH clause, its SELECT and its OPTION clause, and finds its last ORDER BY. */
export function splitQuery(text: string): QueryClauses {
  const words = wordsOutsideParentheses(text)
  const hasWith = words[0]?.text === 'with'
  const bodyStart = hasWith ? (words.find(({ text: word }) => word === 'select')?.start ?? 0) : 0
  const option = words.findLast(({ text: word, start }) => word === 'option' && start > bodyStart)
  const orderIndex = words.findLastIndex(({ text: word }, index) => word === 'order' && words[index + 1]?.text === 'by')
  const hasOrder = orderIndex >= 0
  const selectIndex = words.findIndex(({ start }) => start === bodyStart)
  // TOP follows SELECT, or SELECT DISTINCT.
  const twoWordsAfterSelect = words.slice(selectIndex + 1, selectIndex + 3)
  const hasTop = twoWordsAfterSelect.some(({ text: word }) => word === 'top')
  const hasOffset = hasOrder && words.slice(orderIndex).some(({ text: word }) => word === 'offset')
  return {
    withClause: text.slice(0, bodyStart),
    body: text.slice(bodyStart, option?.start),
    orderByStart: hasOrder ? words[orderIndex]!.start : undefined,
    isOrderEmbeddable: hasOrder && (hasTop || hasOffset),
    optionClause: option ? text.slice(option.start) : '',
  }
}

/** Returns the words outside parentheses, in lower case. */
function wordsOutsideParentheses(text: string): SqlToken[] {
  const words: SqlToken[] = []
  let depth = 0
  for (const token of tsqlTokens(text)) {
    if (token.kind === 'sign' && token.text === ')') depth -= 1
    if (depth === 0 && token.kind === 'word') words.push({ ...token, text: token.text.toLowerCase() })
    if (token.kind === 'sign' && token.text === '(') depth += 1
  }
  return words
}
