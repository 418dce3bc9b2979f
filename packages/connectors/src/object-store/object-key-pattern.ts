import { SourceProblem } from '@sluice/row-stream'

/** A compiled key pattern: the prefix for the list request, and a test for each listed key. */
export interface KeyPattern {
  /** The only key that matches, or undefined if several keys can match. */
  singleKey: string | undefined
  prefix: string
  matches(key: string): boolean
}

type PatternToken =
  | { kind: 'LITERAL'; character: string }
  /** The sign `?`. */
  | { kind: 'ANY_CHARACTER' }
  /** The sign `*`. */
  | { kind: 'ANY_TEXT' }
  /** The sign `**` with the slash after it. */
  | { kind: 'ANY_FOLDERS' }
  | { kind: 'CHARACTER_SET'; isNegated: boolean; ranges: [from: string, to: string][] }

const maxAlternatives = 200
/** The maximum number of tokens after brace expansion. Each key is compared with all of them. */
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
  const shortPattern = pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern
  const { alternatives, problem } = parsePattern(pattern)
  if (problem !== undefined)
    throw new SourceProblem('PATTERN_INVALID', `The key "${shortPattern}" is not a valid key pattern. ${problem}`)
  assertPatternSize(alternatives, shortPattern)
  const literalPrefixes = alternatives.map(getLiteralPrefix)
  const prefix = literalPrefixes.reduce(getCommonPrefix)
  const isSingleKey = alternatives.length === 1 && alternatives[0]!.every(({ kind }) => kind === 'LITERAL')
  // Comparing the prefix first is much faster than comparing all tokens.
  const matchesAlternative = (key: string, index: number): boolean =>
    key.startsWith(literalPrefixes[index]!) && matchesTokens(alternatives[index]!, [...key])
  return {
    singleKey: isSingleKey ? prefix : undefined,
    prefix,
    matches: (key) => key.length <= maxKeyLength && alternatives.some((_, index) => matchesAlternative(key, index)),
  }
}

function assertPatternSize(alternatives: readonly (readonly PatternToken[])[], shortPattern: string): void {
  if (alternatives.length > maxAlternatives)
    throw new SourceProblem(
      'PATTERN_TOO_LARGE',
      `The braces in "${shortPattern}" expand to more than ${maxAlternatives} alternatives. Use * instead.`,
    )
  const tokenCount = alternatives.reduce((sum, { length }) => sum + length, 0)
  if (tokenCount > maxTokens)
    throw new SourceProblem(
      'PATTERN_TOO_LARGE',
      `"${shortPattern}" is longer than ${maxTokens} characters after brace expansion. Use * instead of the braces.`,
    )
}

/** Returns the error in a pattern, or undefined if the pattern is valid. */
export const findKeyPatternProblem = (pattern: string): string | undefined => parsePattern(pattern).problem

/**
 * Returns the alternatives of a pattern after brace expansion, or the error in it. Stops after too many alternatives.
 */
function parsePattern(pattern: string): { alternatives: PatternToken[][]; problem?: string } {
  const characters = [...pattern]
  let alternatives: PatternToken[][] = [[]]
  /** The alternatives in the open braces, or undefined outside braces. */
  let braceAlternatives: PatternToken[][] | undefined
  const createInvalidResult = (problem: string) => ({ alternatives: [], problem })
  const addToken = (token: PatternToken) => {
    if (braceAlternatives) braceAlternatives.at(-1)!.push(token)
    else for (const tokens of alternatives) tokens.push(token)
  }
  for (let position = 0; position < characters.length; position++) {
    const character = characters[position]!
    if (character === '\\') {
      const escapedCharacter = characters[++position]
      if (escapedCharacter === undefined)
        return createInvalidResult(
          'The backslash at the end escapes nothing. Remove it, or write \\\\ for a backslash.',
        )
      addToken({ kind: 'LITERAL', character: escapedCharacter })
    } else if (character === '[') {
      const end = characters.indexOf(']', position + 2)
      if (end < 0)
        return createInvalidResult(
          'The bracket [ is not closed, or is empty. Add ], or write \\[ for a literal bracket.',
        )
      addToken(parseCharacterSet(characters.slice(position + 1, end)))
      position = end
    } else if (character === '{') {
      if (braceAlternatives)
        return createInvalidResult('Nested braces are not supported. Write all alternatives in one pair of braces.')
      braceAlternatives = [[]]
    } else if (character === ',' && braceAlternatives) braceAlternatives.push([])
    else if (character === '}') {
      if (!braceAlternatives)
        return createInvalidResult('The brace } has no opening brace. Remove it, or write \\} for a literal brace.')
      const closedAlternatives = braceAlternatives
      braceAlternatives = undefined
      if (alternatives.length <= maxAlternatives)
        alternatives = alternatives.flatMap((tokens) => closedAlternatives.map((inBraces) => [...tokens, ...inBraces]))
    } else if (character === '*' && characters[position + 1] === '*') {
      const isAtFolderStart = position === 0 || characters[position - 1] === '/'
      const isAtFolderEnd = [undefined, '/'].includes(characters[position + 2])
      if (!isAtFolderStart || !isAtFolderEnd)
        return createInvalidResult('** matches whole folders, so it must be between slashes, as in data/**/cases.csv.')
      addToken({ kind: 'ANY_FOLDERS' })
      // `**` includes the slash after it: `a/**/b` also matches `a/b`.
      position += 2
    } else if (character === '*') addToken({ kind: 'ANY_TEXT' })
    else if (character === '?') addToken({ kind: 'ANY_CHARACTER' })
    else addToken({ kind: 'LITERAL', character })
  }
  if (braceAlternatives)
    return createInvalidResult('The brace { is not closed. Add }, or write \\{ for a literal brace.')
  for (const tokens of alternatives) {
    const lastToken = tokens.at(-1)
    // An empty pattern and a folder match everything below them.
    if (!lastToken || (lastToken.kind === 'LITERAL' && lastToken.character === '/'))
      tokens.push({ kind: 'ANY_FOLDERS' })
  }
  return { alternatives }
}

/** Parses the characters between brackets, such as `!a-z_`. A single character is a range from and to itself. */
function parseCharacterSet(characters: string[]): PatternToken {
  const isNegated = characters[0] === '!' || characters[0] === '^'
  const ranges: [string, string][] = []
  for (let position = isNegated ? 1 : 0; position < characters.length; position++) {
    const from = characters[position]!
    const rangeEnd = characters[position + 1] === '-' ? characters[position + 2] : undefined
    ranges.push([from, rangeEnd ?? from])
    if (rangeEnd !== undefined) position += 2
  }
  return { kind: 'CHARACTER_SET', isNegated, ranges }
}

/** Returns the characters before the first wildcard or set of a pattern. */
function getLiteralPrefix(tokens: readonly PatternToken[]): string {
  let prefix = ''
  for (const token of tokens) {
    if (token.kind !== 'LITERAL') break
    prefix += token.character
  }
  return prefix
}

function getCommonPrefix(firstText: string, secondText: string): string {
  let length = 0
  while (length < firstText.length && firstText[length] === secondText[length]) length++
  return firstText.slice(0, length)
}

/**
 * Returns true if the tokens match the whole key. Simulates a nondeterministic finite automaton: reads the key once,
 * character by character, and keeps the set of all positions in the pattern that the characters until now can have
 * reached. So, unlike with backtracking, the time is bounded for every pattern. A position is the index of the next
 * token; the last one is after all tokens.
 */
function matchesTokens(tokens: readonly PatternToken[], key: readonly string[]): boolean {
  const lastIndex = tokens.length - 1
  let currentPositions = new PatternPositions(tokens.length)
  let nextPositions = new PatternPositions(tokens.length)

  /**
   * Adds a position, and those after it that are reached without a character, because `*` and `**` can match nothing.
   */
  function addReachable(positions: PatternPositions, from: number, isAtFolderStart: boolean): void {
    for (let tokenIndex = from; positions.add(tokenIndex); tokenIndex++) {
      const kind = tokens[tokenIndex]?.kind
      // `**` can only match nothing between whole folders: after a slash, or at the end of the pattern.
      const isEmptyText = kind === 'ANY_TEXT'
      const isEmptyFolders = kind === 'ANY_FOLDERS' && (isAtFolderStart || tokenIndex === lastIndex)
      if (!isEmptyText && !isEmptyFolders) return
    }
  }

  /** Adds to `nextPositions` those that are reached from a position if its token matches a character. */
  function addNextPositions(tokenIndex: number, character: string): void {
    const token = tokens[tokenIndex]
    // The pattern has ended, but the key has not.
    if (token === undefined) return
    const isSlash = character === '/'
    switch (token.kind) {
      case 'ANY_FOLDERS':
        // The token can match further characters.
        return addReachable(nextPositions, tokenIndex, isSlash)
      case 'ANY_TEXT':
        if (!isSlash) addReachable(nextPositions, tokenIndex, isSlash)
        return
      default:
        if (matchesCharacter(token, character)) addReachable(nextPositions, tokenIndex + 1, isSlash)
    }
  }

  addReachable(currentPositions, 0, true)
  for (const character of key) {
    nextPositions.clear()
    for (let index = 0; index < currentPositions.size; index++)
      addNextPositions(currentPositions.list[index]!, character)
    ;[currentPositions, nextPositions] = [nextPositions, currentPositions]
    if (currentPositions.size === 0) return false
  }
  return currentPositions.has(tokens.length)
}

/** A set of positions of a pattern that can be cleared in constant time. */
class PatternPositions {
  readonly list: Uint32Array
  size = 0
  /** For each position, the generation in which it was added last. */
  readonly #generations: Uint32Array
  /** Clearing the set increases this number, so that earlier additions no longer count. */
  #generation = 1

  constructor(maxPosition: number) {
    this.list = new Uint32Array(maxPosition + 1)
    this.#generations = new Uint32Array(maxPosition + 1)
  }

  /** Adds a position. Returns false if the set already contains it. */
  add(position: number): boolean {
    if (this.has(position)) return false
    this.#generations[position] = this.#generation
    this.list[this.size++] = position
    return true
  }

  has(position: number): boolean {
    return this.#generations[position] === this.#generation
  }

  clear(): void {
    this.size = 0
    this.#generation++
  }
}

/** Returns true if a token that stands for one character matches this one. Only a literal slash matches a slash. */
function matchesCharacter(
  token: Exclude<PatternToken, { kind: 'ANY_TEXT' | 'ANY_FOLDERS' }>,
  character: string,
): boolean {
  if (token.kind === 'LITERAL') return token.character === character
  if (character === '/') return false
  if (token.kind === 'ANY_CHARACTER') return true
  const isInRanges = token.ranges.some(([from, to]) => character >= from && character <= to)
  return token.isNegated ? !isInRanges : isInRanges
}
