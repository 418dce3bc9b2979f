import { SourceProblem } from '@sluice/row-stream'

/** A key, or a prefix with a pattern for the keys. */
export interface KeyPattern {
  /** The only matching key; undefined if several keys can match. */
  single: string | undefined
  prefix: string
  matches(key: string): boolean
}

type PatternToken =
  | { kind: 'sign'; sign: string }
  | { kind: 'any' }
  | { kind: 'some' }
  | { kind: 'folders' }
  | { kind: 'set'; not: boolean; ranges: [string, string][] }

/**
 * Parses a key pattern. `*` and `?` match inside one folder, `**` matches any number of folders, `[a-z]` one character of a set and
 * `[!a-z]` one outside of it, `{a,b}` either alternative; a backslash escapes a character. A trailing slash matches everything below
 * it. Throws SourceProblem PATTERN_TOO_LARGE or PATTERN_INVALID, also for saved patterns, since variables may have inserted any text.
 */
export function keyPattern(written: string): KeyPattern {
  const pattern = written.replace(/^\/+/, '')
  const wrong = findKeyPatternProblem(pattern)
  if (wrong !== undefined)
    throw new SourceProblem('PATTERN_INVALID', `The key "${shown(pattern)}" is no pattern. ${wrong}`)
  const all = alternatives(pattern).map((one) => tokens(one.endsWith('/') || one === '' ? `${one}**` : one))
  if (all.reduce((sum, { length }) => sum + length, 0) > maxTokens) throw tooLong(pattern)
  const single = all.length === 1 && all[0]!.every(({ kind }) => kind === 'sign')
  const starts = all.map(fixedPart)
  const prefix = starts.reduce(commonStart)
  return {
    single: single ? prefix : undefined,
    prefix,
    matches: (key) =>
      key.length <= maxKeyLength && all.some((one, at) => key.startsWith(starts[at]!) && fits(one, [...key])),
  }
}

/**
 * Describes the error in a pattern of object keys; undefined for a valid pattern. `*` and `?` match within one folder, `**` matches
 * any number of folders, `[a-z]` one character, `{a,b}` either alternative; a backslash escapes the next character.
 */
export function findKeyPatternProblem(pattern: string): string | undefined {
  let braces = false
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at]!
    if (sign === '\\') {
      if (++at === pattern.length) return 'A backslash stands before a sign: nothing follows this one.'
    } else if (sign === '[') {
      const end = pattern.indexOf(']', at + 2)
      if (end < 0) return 'The bracket [ is not closed, or is empty. Write \\[ for the sign itself.'
      at = end
    } else if (sign === '{') {
      if (braces) return 'Braces stand in braces: write the alternatives out.'
      braces = true
    } else if (sign === '}') {
      if (!braces) return 'The brace } closes nothing. Write \\} for the sign itself.'
      braces = false
    } else if (pattern.startsWith('**', at)) {
      const alone = (at === 0 || pattern[at - 1] === '/') && /^($|\/)/.test(pattern.slice(at + 2))
      if (!alone) return 'The sign ** is for whole folders: write it between slashes, as in data/**/cases.csv.'
      at++
    }
  }
  return braces ? 'The brace { is not closed. Write \\{ for the sign itself.' : undefined
}

/** Returns the pattern with its braces expanded; braces do not nest. */
function alternatives(pattern: string): string[] {
  let found = ['']
  let inside: string[] | undefined
  const add = (text: string) => {
    if (inside) inside.push(inside.pop()! + text)
    else found = found.map((one) => one + text)
  }
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at]!
    if (sign === '\\') add(pattern.slice(at, ++at + 1))
    else if (sign === '[') {
      const end = pattern.indexOf(']', at + 2)
      add(pattern.slice(at, end + 1))
      at = end
    } else if (sign === '{') inside = ['']
    else if (sign === ',' && inside) inside.push('')
    else if (sign === '}' && inside) {
      const choices = inside
      inside = undefined
      found = found.flatMap((one) => choices.map((choice) => one + choice))
      if (found.length > maxAlternatives) throw tooMany(pattern)
    } else add(sign)
  }
  return found
}

const maxAlternatives = 200
/** Maximum number of characters of all alternatives together, which each key is compared with. */
const maxTokens = 10_000
/** UTF-16 units. Object stores allow keys of up to 1,024 characters. */
const maxKeyLength = 2_048

const shown = (pattern: string) => (pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern)

const tooLong = (pattern: string): SourceProblem =>
  new SourceProblem(
    'PATTERN_TOO_LARGE',
    `"${shown(pattern)}" has more than ${maxTokens} signs with its braces written out. Use * in their place.`,
  )

const tooMany = (pattern: string): SourceProblem =>
  new SourceProblem(
    'PATTERN_TOO_LARGE',
    `The braces in "${shown(pattern)}" stand for more than ${maxAlternatives} keys. Use * in their place.`,
  )

function tokens(pattern: string): PatternToken[] {
  const found: PatternToken[] = []
  const signs = [...pattern]
  for (let at = 0; at < signs.length; at++) {
    const sign = signs[at]!
    if (sign === '\\') found.push({ kind: 'sign', sign: signs[++at] ?? '\\' })
    else if (sign === '?') found.push({ kind: 'any' })
    else if (sign === '[') {
      const end = signs.indexOf(']', at + 2)
      found.push(setOf(signs.slice(at + 1, end)))
      at = end
    } else if (sign === '*' && signs[at + 1] === '*') {
      found.push({ kind: 'folders' })
      // The slash after `**` belongs to it: `a/**/b` also matches `a/b`.
      at += signs[at + 2] === '/' ? 2 : 1
    } else if (sign === '*') found.push({ kind: 'some' })
    else found.push({ kind: 'sign', sign })
  }
  return found
}

function setOf(signs: string[]): PatternToken {
  const not = signs[0] === '!' || signs[0] === '^'
  const ranges: [string, string][] = []
  for (let at = not ? 1 : 0; at < signs.length; at++) {
    const isRange = signs[at + 1] === '-' && signs[at + 2] !== undefined
    ranges.push([signs[at]!, isRange ? signs[at + 2]! : signs[at]!])
    if (isRange) at += 2
  }
  return { kind: 'set', not, ranges }
}

function fixedPart(all: readonly PatternToken[]): string {
  let fixed = ''
  for (const token of all) {
    if (token.kind !== 'sign') break
    fixed += token.sign
  }
  return fixed
}

function commonStart(one: string, other: string): string {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, length)
}

/** Matches the key in one pass with all possible positions of the pattern, so no pattern takes longer. */
function fits(all: readonly PatternToken[], key: readonly string[]): boolean {
  const last = all.length - 1
  let places = new PatternPositions(all.length)
  let after = new PatternPositions(all.length)
  const enter = (into: PatternPositions, from: number, atFolder: boolean): void => {
    for (let at = from; into.add(at); at++) {
      const kind = all[at]?.kind
      if (kind !== 'some' && !(kind === 'folders' && (atFolder || at === last))) return
    }
  }
  enter(places, 0, true)
  for (const sign of key) {
    after.clear()
    const atFolder = sign === '/'
    for (let index = 0; index < places.size; index++) {
      const at = places.list[index]!
      const token = all[at]
      if (token === undefined) continue
      if (token.kind === 'folders') enter(after, at, atFolder)
      else if (token.kind === 'some') {
        if (!atFolder) enter(after, at, atFolder)
      } else if (takes(token, sign)) enter(after, at + 1, atFolder)
    }
    ;[places, after] = [after, places]
    if (places.size === 0) return false
  }
  return places.has(all.length)
}

/** A set of positions of a pattern, up to its end, that is cleared in constant time. */
class PatternPositions {
  readonly list: Uint32Array
  size = 0
  readonly #seen: Uint32Array
  #round = 1

  constructor(end: number) {
    this.list = new Uint32Array(end + 1)
    this.#seen = new Uint32Array(end + 1)
  }

  /** Returns false if the position is already present. */
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

function takes(token: Exclude<PatternToken, { kind: 'some' | 'folders' }>, sign: string): boolean {
  if (token.kind === 'sign') return token.sign === sign
  if (sign === '/') return false
  if (token.kind === 'any') return true
  return token.ranges.some(([from, to]) => sign >= from && sign <= to) !== token.not
}
