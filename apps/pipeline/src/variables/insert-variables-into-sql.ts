import type { TextPosition } from '@sluice/warehouses/warehouse'
import type { SqlPiece } from './split-sql.ts'
import { getSqlRules, type SqlLanguage, type SqlRules } from './sql-syntax-rules.ts'
import { misplacedVariable, unknownVariable } from './variable-problem.ts'

/** The use of a variable: as a value, as a quoted text, as an identifier, or as a list of values. */
export type VariableUse = 'VALUE' | 'TEXT' | 'IDENTIFIER' | 'LIST'

export interface VariablePart {
  text: string
  name: string
  use: VariableUse
}

/** A part of SQL: either unchanged text or a variable. */
export type SqlPart = { text: string } | VariablePart

/**
 * Matches keywords that are followed by a table name. FROM is an exception in `is distinct from` and in functions such
 * as `extract(… from …)`.
 */
const tableKeyword = /^(from|join|into|update|table)$/i
const functionWithFrom = /^(extract|substring|trim|overlay)$/i

/**
 * Splits SQL at its variables. `${name}` is a value, `'${name}'` the value as text, `${name:identifier}` a quoted
 * identifier and `${name:list}` a list. Variables in comments are ignored. Throws `VariableProblem` for any other use
 * inside quotes, for a variable directly after a word, and for a value where SQL expects a table name.
 */
export function* splitAtVariables(pieces: Iterable<SqlPiece>): Generator<SqlPart> {
  let previousPiece: SqlPiece | undefined
  /** The words directly before this position, with only comments and spaces between them. */
  const precedingWords: string[] = []
  /** The word before each open parenthesis, for example the name of a function. */
  const wordsBeforeParentheses: (string | undefined)[] = []
  for (const piece of pieces) {
    if (piece.kind === 'variable') {
      const { name, use } = parsePlaceholder(piece.text)
      if (previousPiece?.kind === 'word')
        throw misplacedVariable(
          name,
          'directly follows a word. Put a space between them; a variable is a value, not a part of a name.',
        )
      if (use === 'VALUE' && expectsTableName(precedingWords, wordsBeforeParentheses.at(-1)))
        throw misplacedVariable(
          name,
          `is a value, but is used as a table name. Write \${${name}:identifier} for a name.`,
        )
      yield { text: piece.text, name, use }
    } else if (piece.kind === 'literal' && wholeLiteral.test(piece.text)) {
      yield { text: piece.text, name: wholeLiteral.exec(piece.text)![1]!.trim(), use: 'TEXT' }
    } else {
      assertNoVariableInside(piece)
      yield { text: piece.text }
    }
    if (piece.text === '(') wordsBeforeParentheses.push(precedingWords.at(-1))
    if (piece.text === ')') wordsBeforeParentheses.pop()
    const isSpace = piece.kind === 'comment' || piece.text.trim() === ''
    if (piece.kind === 'word') precedingWords.push(piece.text)
    else if (!isSpace) precedingWords.length = 0
    previousPiece = piece
  }
}

/**
 * Returns whether SQL expects a table name after these words. `functionName` is the word before the open parenthesis.
 */
function expectsTableName(words: readonly string[], functionName: string | undefined): boolean {
  const lastWord = words.at(-1) ?? ''
  const wordBefore = words.at(-2) ?? ''
  if (!tableKeyword.test(lastWord)) return false
  if (!/^from$/i.test(lastWord)) return true
  const isDistinctFrom = /^distinct$/i.test(wordBefore)
  const isInsideFunction = functionName !== undefined && functionWithFrom.test(functionName)
  return !isDistinctFrom && !isInsideFunction
}

const wholeLiteral = /^'\$\{([^{}\n:]*)\}'$/

function parsePlaceholder(text: string): { name: string; use: VariableUse } {
  const inside = text.slice(2, -1).trim()
  const [, name = inside, useWord] = /^([^:]*):\s*(\w+)$/.exec(inside) ?? []
  if (useWord === undefined) return { name, use: 'VALUE' }
  if (/^identifier$/i.test(useWord)) return { name: name.trim(), use: 'IDENTIFIER' }
  if (/^list$/i.test(useWord)) return { name: name.trim(), use: 'LIST' }
  throw misplacedVariable(inside, 'has an unknown word after the colon. Write :identifier or :list, or omit the colon.')
}

/** Throws `VariableProblem` if a literal or a quoted name contains a variable. */
function assertNoVariableInside({ kind, text }: SqlPiece): void {
  if (kind !== 'literal' && kind !== 'quoted name') return
  const variable = /\$\{([^{}\n]*)\}/.exec(text)?.[1]
  if (variable === undefined) return
  const advice =
    kind === 'literal'
      ? `is in quotes with other text. Write '\${${variable}}' for the value alone, and join it with other text by || or concat().`
      : `is inside of a quoted name. Write \${${variable}:identifier} for a name.`
  throw misplacedVariable(variable, advice)
}

/**
 * Matches numbers that all databases parse in the same way. Excludes negative zero, because databases drop its sign.
 */
const portableNumberPattern = /^(-(?=[\d.]*[1-9]))?(0|[1-9]\d{0,30})(\.\d{1,30})?$/

/**
 * Returns SQL in which literals have replaced the variables. Literals are quoted by the rules of the database, so no
 * value is executed as SQL. Numeric values become numbers. Throws `VariableProblem`.
 */
export const insertVariablesIntoSql = (
  sql: string,
  variables: ReadonlyMap<string, string>,
  language: SqlLanguage,
): string => [...replaceSqlVariables(sql, variables, language)].map(({ sent }) => sent).join('')

/** A part of SQL as the user wrote it, and as it is sent to the database. */
export interface ReplacedPart {
  userText: string
  sent: string
}

/**
 * Yields the parts of SQL with variables replaced, like `insertVariablesIntoSql`. `advice` is the advice in the message
 * about an unknown variable.
 */
export function* replaceSqlVariables(
  sql: string,
  variables: ReadonlyMap<string, string>,
  language: SqlLanguage,
  advice?: string,
): Generator<ReplacedPart> {
  const rules = getSqlRules(language)
  for (const part of splitAtVariables(rules.pieces(sql))) {
    if (!('name' in part)) {
      yield { userText: part.text, sent: part.text }
      continue
    }
    const literal = toLiteral(part, getVariableValue(part.name, variables, advice), rules)
    // Add spaces around the literal, because some databases join two adjacent literals.
    yield { userText: part.text, sent: ` ${literal} ` }
  }
}

/** Returns the SQL for a variable with this value. */
function toLiteral({ name, use }: VariablePart, value: string, { text, identifier }: SqlRules): string {
  switch (use) {
    case 'IDENTIFIER':
      return identifier(toIdentifier(name, value))
    case 'LIST':
      return splitListValue(value).map(numberOrText).join(', ') || 'null'
    case 'TEXT':
      return text(value)
    case 'VALUE':
      return numberOrText(value)
  }
  function numberOrText(item: string): string {
    if (!portableNumberPattern.test(item)) return text(item)
    // Put negative numbers in parentheses, because a minus before them would start a comment.
    return item.startsWith('-') ? `(${item})` : item
  }
}

/**
 * Converts a position in the SQL that was sent to a position in the SQL that the user wrote. A position within an
 * inserted value becomes the position of its variable.
 */
export function findUserPosition(parts: readonly ReplacedPart[], { line, column }: TextPosition): TextPosition {
  const sentText = parts.map((part) => part.sent).join('')
  /** The index of the position in the part at hand. */
  let index = indexOfPosition(sentText, line, column ?? 1)
  let userTextBefore = ''
  for (const { sent, userText } of parts) {
    const isInPart = index < sent.length
    if (isInPart) {
      const isVariable = sent !== userText
      if (!isVariable) userTextBefore += userText.slice(0, index)
      break
    }
    index -= sent.length
    userTextBefore += userText
  }
  const lines = userTextBefore.split('\n')
  return { line: lines.length, ...(column !== undefined && { column: [...lines.at(-1)!].length + 1 }) }
}

/**
 * Returns the index of a line and column, which start at 1. Columns count characters; the index counts UTF-16 units.
 */
function indexOfPosition(text: string, line: number, column: number): number {
  const lines = text.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0)
  return start + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length
}

/** Returns the names of the variables in SQL, except those in comments. */
export function findVariablesInSql(sql: string, language: SqlLanguage): Set<string> {
  const names = new Set<string>()
  for (const { kind, text } of getSqlRules(language).pieces(sql))
    if (kind === 'variable' || kind === 'literal' || kind === 'quoted name')
      for (const [, inside] of text.matchAll(/\$\{([^{}\n]*)\}/g)) names.add(inside!.split(':')[0]!.trim())
  return names
}

/** Throws `VariableProblem` if SQL contains a variable where variables are not allowed. */
export function assertVariablePlaces(sql: string, language: SqlLanguage): void {
  for (const _ of splitAtVariables(getSqlRules(language).pieces(sql)));
}

export function getVariableValue(name: string, variables: ReadonlyMap<string, string>, advice?: string): string {
  const value = variables.get(name)
  if (value === undefined) throw unknownVariable(name, advice)
  if (value.includes('\0'))
    throw misplacedVariable(name, 'has a NUL character in its value, which SQL does not allow. Remove it.')
  return value
}

/** Returns a value that is a valid identifier in every database. Throws `VariableProblem` for other values. */
export function toIdentifier(name: string, value: string): string {
  if (/^[^'"`\\[\]\p{Cc}]{1,128}$/u.test(value)) return value
  throw misplacedVariable(
    name,
    'is used as an identifier, but its value is not a valid one. Use 1 to 128 characters without quotes, brackets, backslashes and control characters.',
  )
}

/** Splits a value at commas. If the value is a JSON array, parses it instead, so that elements can contain commas. */
export function splitListValue(value: string): string[] {
  const trimmed = value.trim()
  if (trimmed.startsWith('[')) {
    try {
      const list: unknown = JSON.parse(trimmed)
      const isItem = (item: unknown) => typeof item === 'string' || typeof item === 'number'
      if (Array.isArray(list) && list.every(isItem)) return list.map(String)
    } catch {}
  }
  return trimmed === '' ? [] : trimmed.split(',').map((item) => item.trim())
}
