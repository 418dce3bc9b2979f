import { assertPlainComments, type SqlToken } from '../../sql-text/sql-tokens.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import { tsqlTokens } from './tokens.ts'

/**
 * Keywords that a query contains only inside quotes: the server reserves them for statements. T-SQL statements need no separator,
 * so the check covers every position.
 */
const statementKeywords = new Set(
  `alter backup begin break bulk checkpoint close commit continue create dbcc deallocate declare delete deny disk drop dump exec execute exit
  external freetexttable goto grant if insert into kill load lineno nocheck open opendatasource openquery openrowset openxml print proc procedure raiserror read readtext
  reconfigure restore return revert revoke rollback rowguidcol rule save set setuser shutdown textsize tran transaction trigger truncate
  tsequal update updatetext use waitfor while writetext`.split(/\s+/),
)

/**
 * Throws SQL_NOT_ALLOWED unless the text is one query: SELECT, or WITH and SELECT. The server restricts which tables it may read;
 * this check prevents a second statement, a wait, or a write to a place that all users can write to.
 */
export function assertSingleQuery(text: string): void {
  assertPlainComments(text)
  const tokens = tsqlTokens(text)
  const [first] = tokens
  if (first?.kind !== 'word' || !/^(select|with)$/i.test(first.text)) {
    if (first?.text !== '(') throw notASingleQuery()
  }
  let depth = 0
  let queries = 0
  let joined = true
  for (const [index, token] of tokens.entries()) {
    if (token.text === '(' && token.kind === 'sign') depth += 1
    if (token.text === ')' && token.kind === 'sign') depth -= 1
    if (depth < 0 || (token.kind === 'sign' && token.text === ';')) throw notASingleQuery()
    if (token.kind !== 'word') continue
    const word = token.text.toLowerCase()
    if (statementKeywords.has(word)) throw forbiddenWord(token)
    if (word.startsWith('#') || word.startsWith('@@')) throw forbiddenWord(token)
    const next = tokens[index + 1]
    // Both words may also be names; in this context, one runs a stored model and the other advances a sequence.
    if (word === 'predict' && next?.text === '(') throw forbiddenWord(token)
    if (word === 'next' && next?.text.toLowerCase() === 'value') throw forbiddenWord(token)
    if (depth > 0) continue
    if (word === 'union' || word === 'except' || word === 'intersect') joined = true
    if (word === 'select') {
      if (!joined) throw notASingleQuery()
      joined = false
      queries += 1
    }
  }
  if (queries === 0 && first?.text !== '(') throw notASingleQuery()
}

const notASingleQuery = () =>
  new WarehouseProblem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT or WITH … SELECT.')

const forbiddenWord = ({ text }: SqlToken) =>
  new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    `The keyword ${text.toUpperCase().slice(0, 100)} is not allowed in a query. If it is a name, write it in brackets: [${text.slice(0, 100)}].`,
  )

/** The parts of a query. They allow a query around it, which WITH, ORDER BY and OPTION inside would prevent. */
export interface QueryParts {
  /** WITH and its definitions, or an empty text. */
  before: string
  body: string
  /** Whether the body has an ORDER BY. */
  ordered: boolean
  /** The position of ORDER BY in the text. */
  orderedFrom: number
  /** Whether the server accepts that ORDER BY inside another query. */
  bounded: boolean
  /** OPTION (…), or an empty text. */
  rest: string
}

export function splitQuery(text: string): QueryParts {
  const tokens = tsqlTokens(text)
  const top: SqlToken[] = []
  let depth = 0
  for (const token of tokens) {
    if (token.kind === 'sign' && token.text === ')') depth -= 1
    if (depth === 0 && token.kind === 'word') top.push({ ...token, text: token.text.toLowerCase() })
    if (token.kind === 'sign' && token.text === '(') depth += 1
  }
  const begin = top[0]?.text === 'with' ? (top.find(({ text: word }) => word === 'select')?.start ?? 0) : 0
  const order = top.findLastIndex(({ text: word }, index) => word === 'order' && top[index + 1]?.text === 'by')
  const option = top.findLast(({ text: word, start }) => word === 'option' && start > begin)
  const select = top.findIndex(({ start }) => start === begin)
  const isTop = top.slice(select + 1, select + 3).some(({ text: word }) => word === 'top')
  const ordered = order >= 0
  return {
    before: text.slice(0, begin),
    body: text.slice(begin, option?.start),
    ordered,
    orderedFrom: ordered ? top[order]!.start : text.length,
    bounded: ordered && (isTop || top.slice(order).some(({ text: word }) => word === 'offset')),
    rest: option ? text.slice(option.start) : '',
  }
}
