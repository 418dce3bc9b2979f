import { SourceProblem } from '@sluice/row-stream'

/** A compiled key pattern: the prefix for the list request, and a test for each listed key. */
export interface KeyPattern {
  /** The only key that matches, or undefined if several keys can match. */
  singleKey: string | undefined
  prefix: string
  matches(key: string): boolean
}

type PatternToken =
  | { kind: 'sign'; sign: string }
  | { kind: 'any' }
  | { kind: 'some' }
  | { kind: 'folders' }
  | { kind: 'set'; not: boolean; ranges: [string, string][] }

const maxAlternatives = 200
/** The maximum pattern characters after brace expansion. Each key is compared with all of them. */
const maxTokens = 10_000
/**
 * Keys longer than this do not match. Object stores allow keys of up to 1,024 characters, which are at most 2,048
 * UTF-16 code units.
 */
const maxKeyLength = 2_048

/**
 * Compiles a key pattern. `*` and `?` match within one folder, `**` matches any number of folders, `[a-z]` one
 * character of a set, `[!a-z]` one character outside it, and `{a,b}` either alternative. A backslash escapes a
 * character. A trailing slash matches everything below the folder. Throws `SourceProblem` PATTERN_TOO_LARGE or
 * PATTERN_INVALID; a saved pattern can be invalid, because variables can insert any text.
 */
export function compileKeyPattern(setting: string): KeyPattern {
  const pattern = setting.replace(/^\/+/, '')
  const shownPattern = pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern
  const { alternatives, problem } = parsePattern(pattern)
  if (problem !== undefined)
    throw new SourceProblem('PATTERN_INVALID', `The key "${shownPattern}" is not a valid key pattern. ${problem}`)
  if (alternatives.length > maxAlternatives)
    throw new SourceProblem(
      'PATTERN_TOO_LARGE',
      `The braces in "${shownPattern}" expand to more than ${maxAlternatives} alternatives. Use * instead.`,
    )
  if (alternatives.reduce((sum, { length }) => sum + length, 0) > maxTokens)
    throw new SourceProblem(
      'PATTERN_TOO_LARGE',
      `"${shownPattern}" is longer than ${maxTokens} characters after brace expansion. Use * instead of the braces.`,
    )
  const literalPrefixes = alternatives.map(getLiteralPrefix)
  const prefix = literalPrefixes.reduce(getCommonPrefix)
  const isSingleKey = alternatives.length === 1 && alternatives[0]!.every(({ kind }) => kind === 'sign')
  return {
    singleKey: isSingleKey ? prefix : undefined,
    prefix,
    matches: (key) =>
      key.length <= maxKeyLength &&
      alternatives.some((tokens, index) => key.startsWith(literalPrefixes[index]!) && matchesTokens(tokens, [...key])),
  }
}

/** Returns the error in a pattern, or undefined if the pattern is valid. */
export const findKeyPatternProblem = (pattern: string): string | undefined => parsePattern(pattern).problem

/**
 * Returns the alternatives of a pattern after brace expansion, or the error in it. Stops after too many alternatives.
 */
function parsePattern(pattern: string): { alternatives: PatternToken[][]; problem?: string } {
  const signs = [...pattern]
  let alternatives: PatternToken[][] = [[]]
  /** The alternatives of the open brace, or undefined outside braces. */
  let choices: PatternToken[][] | undefined
  const invalid = (problem: string) => ({ alternatives: [], problem })
  const add = (token: PatternToken) => {
    if (choices) choices.at(-1)!.push(token)
    else for (const tokens of alternatives) tokens.push(token)
  }
  for (let position = 0; position < signs.length; position++) {
    const sign = signs[position]!
    if (sign === '\\') {
      const escapedCharacter = signs[++position]
      if (escapedCharacter === undefined)
        return invalid('The backslash at the end escapes nothing. Remove it, or write \\\\ for a backslash.')
      add({ kind: 'sign', sign: escapedCharacter })
    } else if (sign === '[') {
      const end = signs.indexOf(']', position + 2)
      if (end < 0)
        return invalid('The bracket [ is not closed, or is empty. Add ], or write \\[ for a literal bracket.')
      add(parseCharacterSet(signs.slice(position + 1, end)))
      position = end
    } else if (sign === '{') {
      if (choices) return invalid('Nested braces are not supported. Write all alternatives in one pair of braces.')
      choices = [[]]
    } else if (sign === ',' && choices) choices.push([])
    else if (sign === '}') {
      if (!choices) return invalid('The brace } has no opening brace. Remove it, or write \\} for a literal brace.')
      const closed = choices
      choices = undefined
      if (alternatives.length <= maxAlternatives)
        alternatives = alternatives.flatMap((tokens) => closed.map((choice) => [...tokens, ...choice]))
    } else if (sign === '*' && signs[position + 1] === '*') {
      const isAlone = (position === 0 || signs[position - 1] === '/') && [undefined, '/'].includes(signs[position + 2])
      if (!isAlone) return invalid('** matches whole folders, so it must be between slashes, as in data/**/cases.csv.')
      add({ kind: 'folders' })
      // `**` includes the slash after it: `a/**/b` also matches `a/b`.
      position += 2
    } else if (sign === '*') add({ kind: 'some' })
    else if (sign === '?') add({ kind: 'any' })
    else add({ kind: 'sign', sign })
  }
  if (choices) return invalid('The brace { is not closed. Add }, or write \\{ for a literal brace.')
  for (const tokens of alternatives) {
    const lastToken = tokens.at(-1)
    if (!lastToken || (lastToken.kind === 'sign' && lastToken.sign === '/')) tokens.push({ kind: 'folders' })
  }
  return { alternatives }
}

function parseCharacterSet(signs: string[]): PatternToken {
  const isNegated = signs[0] === '!' || signs[0] === '^'
  const ranges: [string, string][] = []
  for (let position = isNegated ? 1 : 0; position < signs.length; position++) {
    const isRange = signs[position + 1] === '-' && signs[position + 2] !== undefined
    ranges.push([signs[position]!, isRange ? signs[position + 2]! : signs[position]!])
    if (isRange) position += 2
  }
  return { kind: 'set', not: isNegated, ranges }
}

function getLiteralPrefix(tokens: readonly PatternToken[]): string {
  let fixed = ''
  for (const token of tokens) {
    if (token.kind !== 'sign') break
    fixed += token.sign
  }
  return fixed
}

function getCommonPrefix(firstText: string, secondText: string): string {
  let length = 0
  while (length < firstText.length && firstText[length] === secondText[length]) length++
  return firstText.slice(0, length)
}

/**
 * Compares the key with all possible positions of the pattern in one pass, so the time is bounded for every pattern.
 */
function matchesTokens(tokens: readonly PatternToken[], key: readonly string[]): boolean {
  const lastIndex = tokens.length - 1
  let currentPositions = new PatternPositions(tokens.length)
  let nextPositions = new PatternPositions(tokens.length)
  const enter = (positions: PatternPositions, from: number, isAtFolderStart: boolean): void => {
    for (let tokenIndex = from; positions.add(tokenIndex); tokenIndex++) {
      const kind = tokens[tokenIndex]?.kind
      if (kind !== 'some' && !(kind === 'folders' && (isAtFolderStart || tokenIndex === lastIndex))) return
    }
  }
  enter(currentPositions, 0, true)
  for (const character of key) {
    nextPositions.clear()
    const isAtFolderStart = character === '/'
    for (let index = 0; index < currentPositions.size; index++) {
      const tokenIndex = currentPositions.list[index]!
      const token = tokens[tokenIndex]
      if (token === undefined) continue
      if (token.kind === 'folders') enter(nextPositions, tokenIndex, isAtFolderStart)
      else if (token.kind === 'some') {
        if (!isAtFolderStart) enter(nextPositions, tokenIndex, isAtFolderStart)
      } else if (matchesCharacter(token, character)) enter(nextPositions, tokenIndex + 1, isAtFolderStart)
    }
    ;[currentPositions, nextPositions] = [nextPositions, currentPositions]
    if (currentPositions.size === 0) return false
  }
  return currentPositions.has(tokens.length)
}

/** A set of positions of a pattern that can be cleared in constant time. */
class PatternPositions {
  readonly list: Uint32Array
  size = 0
  readonly #seen: Uint32Array
  #round = 1

  constructor(end: number) {
    this.list = new Uint32Array(end + 1)
    this.#seen = new Uint32Array(end + 1)
  }

  /** Adds a position. Returns false if the set already contains it. */
  add(at: number): boolean {
    if (this.has(at)) return false
    this.#seen[at] = this.#round
    this.list[this.size++] = at
    return true
  }

  has(at: number): boolean {
    return this.#seen[at] === this.#round
  }

  clear(): void {
    this.size = 0
    this.#round++
  }
}

function matchesCharacter(token: Exclude<PatternToken, { kind: 'some' | 'folders' }>, sign: string): boolean {
  if (token.kind === 'sign') return token.sign === sign
  if (sign === '/') return false
  if (token.kind === 'any') return true
  return token.ranges.some(([from, to]) => sign >= from && sign <= to) !== token.not
}
