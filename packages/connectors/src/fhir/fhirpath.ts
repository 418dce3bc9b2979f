import { SourceProblem } from '@sluice/row-stream'
import { isExactNumber } from '../http-connector/exact-json.ts'

export type FhirPathExpression = (focus: unknown) => unknown[]
type CollectionFunction = (focus: unknown[]) => unknown[]

/** Matches a token at its `lastIndex`, with the white space before it. */
const tokenPattern =
  /\s*(?:'(?<text>(?:[^'\\]|\\.)*)'|(?<number>\d+(?:\.\d+)?)|(?<name>\$this|%\w+|[A-Za-z_]\w*)|`(?<quotedName>[^`]+)`|(?<sign>!=|<=|>=|[().,|=<>[\]&+*/-]))/y

/**
 * The maximum number of tokens of an expression. The limit prevents a stack overflow, because nested and chained
 * expressions are parsed and evaluated recursively.
 */
const maxTokens = 1_000

interface PathToken {
  kind: 'text' | 'number' | 'name' | 'sign' | 'end'
  text: string
}

/** Binary operators in order of precedence, lowest first. */
const operatorLevels = [['or', 'xor'], ['and'], ['=', '!=', '<', '>', '<=', '>='], ['|'], ['&', '+', '-'], ['*', '/']]

/**
 * Compiles a FHIRPath expression. Supports the subset that reports and views use: paths, operators and the functions
 * below. `%name` refers to `variables[name]` at evaluation. Throws `SourceProblem` NOT_SUPPORTED for anything else.
 */
export function compileFhirPath(
  expression: string,
  variables: Readonly<Record<string, unknown>> = {},
): FhirPathExpression {
  const tokens = tokenizePath(expression)
  let position = 0
  const peek = (): PathToken => tokens[position] ?? { kind: 'end', text: '' }
  const takeToken = (): PathToken => {
    const token = peek()
    position += 1
    return token
  }
  const isSign = (text: string) => peek().kind === 'sign' && peek().text === text
  const expectSign = (text: string) => {
    if (!isSign(text)) throw createNotSupportedProblem(expression)
    position += 1
  }

  /** Parses the operators of a level of precedence and all higher levels. Above the last level are paths. */
  function parseOperators(level: number): CollectionFunction {
    const operators = operatorLevels[level]
    if (!operators) return parsePath()
    let leftExpression = parseOperators(level + 1)
    // A text in quotes is not an operator, even if it is `and` or `=`.
    while (peek().kind !== 'text' && operators.includes(peek().text)) {
      const operator = takeToken().text
      const leftOperand = leftExpression
      const rightOperand = parseOperators(level + 1)
      leftExpression = (focus) => applyOperator(operator, leftOperand(focus), rightOperand(focus))
    }
    return leftExpression
  }

  /** Parses a term and the members and indexes after it, such as `name.given[0]`. */
  function parsePath(): CollectionFunction {
    let path = parseTerm()
    for (;;) {
      if (isSign('.')) {
        position += 1
        const precedingPath = path
        const member = parseMember({ isFirst: false })
        path = (focus) => member(precedingPath(focus))
      } else if (isSign('[')) {
        position += 1
        const precedingPath = path
        const indexExpression = parseOperators(0)
        expectSign(']')
        path = (focus) => {
          const index = Number(indexExpression(focus)[0])
          return precedingPath(focus).slice(index, index + 1)
        }
      } else return path
    }
  }

  /** Parses a literal, an expression in parentheses, or the first member of a path. */
  function parseTerm(): CollectionFunction {
    const { kind, text } = peek()
    if (kind === 'text' || kind === 'number') {
      position += 1
      return () => [kind === 'text' ? text : Number(text)]
    }
    if (!isSign('(')) return parseMember({ isFirst: true })
    position += 1
    const group = parseOperators(0)
    expectSign(')')
    return group
  }

  /**
   * Parses a field or a function call. The first member of a path can also be `$this`, a variable, a boolean, or a
   * resource type, which means the resource itself.
   */
  function parseMember({ isFirst }: { isFirst: boolean }): CollectionFunction {
    const { kind, text: name } = takeToken()
    if (kind !== 'name') throw createNotSupportedProblem(expression)
    if (isFirst && name === '$this') return (focus) => focus
    if (isFirst && name.startsWith('%')) return resolveVariable(name.slice(1))
    if (isFirst && (name === 'true' || name === 'false')) return () => [name === 'true']
    if (isSign('(')) return parseFunctionCall(name)
    if (isFirst && /^[A-Z]/.test(name)) return (focus) => focus
    const isTypedChoice = isSign('.') && tokens[position + 1]?.text === 'ofType'
    if (isTypedChoice) {
      // Skips `.ofType(`. The element `value.ofType(string)` is stored in the field `valueString`.
      position += 3
      const type = takeToken().text
      expectSign(')')
      return (focus) => readField(focus, `${name}${type[0]?.toUpperCase()}${type.slice(1)}`)
    }
    return (focus) => readField(focus, name)
  }

  function resolveVariable(name: string): CollectionFunction {
    if (!Object.hasOwn(variables, name)) throw createNotSupportedProblem(expression)
    return () => [variables[name]]
  }

  function parseFunctionCall(name: string): CollectionFunction {
    expectSign('(')
    if (name === 'getReferenceKey') {
      // The argument of getReferenceKey is the name of a resource type, not an expression.
      const type = isSign(')') ? undefined : takeToken().text
      expectSign(')')
      return (focus) => focus.flatMap((item) => parseReferenceKey(item, type))
    }
    const argumentList: CollectionFunction[] = []
    while (!isSign(')')) {
      argumentList.push(parseOperators(0))
      if (!isSign(')')) expectSign(',')
    }
    position += 1
    const evaluate = Object.hasOwn(functionsByName, name) ? functionsByName[name] : undefined
    if (!evaluate) throw createNotSupportedProblem(expression)
    return (focus) => evaluate(focus, argumentList)
  }

  const compiledPath = parseOperators(0)
  if (peek().kind !== 'end') throw createNotSupportedProblem(expression)
  return (focus) => compiledPath([focus])
}

/** Splits an expression into tokens. Throws `SourceProblem` NOT_SUPPORTED for an unknown sign or too many tokens. */
function tokenizePath(expression: string): PathToken[] {
  const tokens: PathToken[] = []
  const { length } = expression.trimEnd()
  // Each match starts where the previous one ended.
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < length) {
    const groups = tokenPattern.exec(expression)?.groups
    if (!groups || tokens.length >= maxTokens) throw createNotSupportedProblem(expression)
    const { text, number, name, quotedName, sign } = groups
    if (text !== undefined) tokens.push({ kind: 'text', text: text.replaceAll(/\\(.)/g, '$1') })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else tokens.push({ kind: 'name', text: name ?? quotedName ?? '' })
  }
  return tokens
}

/**
 * Choice elements of FHIR. Their field names in a resource end with the type: `value` is stored as `valueString`,
 * `valueCoding` and so on.
 */
const choicePattern =
  /^(value|effective|onset|abatement|deceased|occurrence|performed|medication|multipleBirth|timing)$/

/** Returns the values of a field in all objects of a collection. The elements of a list are separate values. */
function readField(focus: readonly unknown[], name: string): unknown[] {
  return focus.flatMap((item) => {
    if (typeof item !== 'object' || item === null) return []
    const fields = item as Record<string, unknown>
    const key = findFieldKey(fields, name)
    const value = key === undefined ? undefined : fields[key]
    if (value === undefined || value === null) return []
    return Array.isArray(value) ? (value as unknown[]) : [value]
  })
}

/** Returns the key of a field. For a choice element, this is the key that starts with its name: `valueString`. */
function findFieldKey(fields: Record<string, unknown>, name: string): string | undefined {
  if (name in fields || !choicePattern.test(name)) return name
  return Object.keys(fields).find((key) => isChoiceKey(key, name))
}

const isChoiceKey = (key: string, name: string): boolean =>
  key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length))

const createNotSupportedProblem = (expression: string): SourceProblem =>
  new SourceProblem(
    'NOT_SUPPORTED',
    `The FHIRPath "${expression.slice(0, 200)}" uses a feature that this version does not support. Use only paths, where and comparisons.`,
  )

/** Returns true, false, or undefined for an empty collection. */
const toBoolean = ([value]: readonly unknown[]): boolean | undefined =>
  value === undefined ? undefined : value !== false

/** Evaluates `and` in the three-valued logic of FHIRPath, where an empty collection is the third value. */
function applyAnd(left: boolean | undefined, right: boolean | undefined): boolean[] {
  if (left === false || right === false) return [false]
  return left && right ? [true] : []
}

/** Evaluates `or` in the three-valued logic of FHIRPath, where an empty collection is the third value. */
function applyOr(left: boolean | undefined, right: boolean | undefined): boolean[] {
  if (left || right) return [true]
  return left === false && right === false ? [false] : []
}

/** Evaluates a binary operator. A comparison with an empty collection is empty, as FHIRPath specifies. */
function applyOperator(operator: string, left: unknown[], right: unknown[]): unknown[] {
  if (operator === '|') return [...new Set([...left, ...right])]
  if (operator === 'and') return applyAnd(toBoolean(left), toBoolean(right))
  if (operator === 'or') return applyOr(toBoolean(left), toBoolean(right))
  if (operator === '&') return [`${left.join('')}${right.join('')}`]
  if (left.length === 0 || right.length === 0) return []
  if (operator === 'xor') return [toBoolean(left) !== toBoolean(right)]
  const isEqual = JSON.stringify(left) === JSON.stringify(right)
  if (operator === '=') return [isEqual]
  if (operator === '!=') return [!isEqual]
  const [leftNumber, rightNumber] = [left[0], right[0]].map(toNumber) as [number, number]
  switch (operator) {
    case '+':
      return [leftNumber + rightNumber]
    case '-':
      return [leftNumber - rightNumber]
    case '*':
      return [leftNumber * rightNumber]
    case '/':
      return rightNumber === 0 ? [] : [leftNumber / rightNumber]
    case '<':
      return [leftNumber < rightNumber]
    case '>':
      return [leftNumber > rightNumber]
    case '<=':
      return [leftNumber <= rightNumber]
    default:
      return [leftNumber >= rightNumber]
  }
}

const toNumber = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && isExactNumber(value) ? Number(JSON.stringify(value)) : value

/** True if the first value exists and is not false. A condition can also be a path. */
export const isTrue = ([value]: readonly unknown[]): boolean => value !== undefined && value !== false
const formatValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const toTexts = (values: readonly unknown[]): string[] => values.map(formatValue)
const evaluateText = (argument: CollectionFunction | undefined, focus: unknown[]): string =>
  formatValue(argument?.(focus)[0] ?? '')

const filterMatching = (focus: readonly unknown[], argument: CollectionFunction | undefined): unknown[] =>
  argument ? focus.filter((item) => isTrue(argument([item]))) : [...focus]

type TextFunction = (text: string, argument: string) => unknown
const createTextFunction =
  (textFunction: TextFunction) =>
  (focus: unknown[], [argument]: CollectionFunction[]): unknown[] =>
    toTexts(focus).map((text) => textFunction(text, evaluateText(argument, focus)))

/** FHIRPath functions by name. Each receives a collection and the function's arguments, and returns a collection. */
const functionsByName: Readonly<Record<string, (focus: unknown[], argument: CollectionFunction[]) => unknown[]>> = {
  where: (focus, [argument]) => filterMatching(focus, argument),
  select: (focus, [argument]) => (argument ? focus.flatMap((item) => argument([item])) : []),
  exists: (focus, [argument]) => [filterMatching(focus, argument).length > 0],
  all: (focus, [argument]) => [filterMatching(focus, argument).length === focus.length],
  empty: (focus) => [focus.length === 0],
  hasValue: (focus) => [focus.length > 0],
  not: (focus) => (focus.length === 0 ? [] : [focus[0] === false]),
  count: (focus) => [focus.length],
  first: (focus) => focus.slice(0, 1),
  last: (focus) => focus.slice(-1),
  tail: (focus) => focus.slice(1),
  skip: (focus, [argument]) => focus.slice(Number(evaluateText(argument, focus))),
  take: (focus, [argument]) => focus.slice(0, Number(evaluateText(argument, focus))),
  distinct: (focus) => [...new Set(focus)],
  join: (focus, [argument]) => (focus.length === 0 ? [] : [toTexts(focus).join(evaluateText(argument, focus))]),
  iif: (focus, [argument, then, otherwise]): unknown[] =>
    (isTrue(argument?.(focus) ?? []) ? then : otherwise)?.(focus) ?? [],
  extension: (focus, [argument]) =>
    focus.flatMap((item) => {
      const { extension = [] } = (item ?? {}) as { extension?: { url?: unknown }[] }
      return extension.filter(({ url }) => url === evaluateText(argument, focus))
    }),
  getResourceKey: (focus) => focus.flatMap((item) => (item as { id?: unknown } | null)?.id ?? []),
  toString: (focus: unknown[]) => toTexts(focus),
  lower: createTextFunction((text) => text.toLowerCase()),
  upper: createTextFunction((text) => text.toUpperCase()),
  startsWith: createTextFunction((text, argument) => text.startsWith(argument)),
  endsWith: createTextFunction((text, argument) => text.endsWith(argument)),
  contains: createTextFunction((text, argument) => text.includes(argument)),
}

/**
 * Returns the id in a reference, for matching with `getResourceKey`: `7` for `Group/7`. Returns an empty collection for
 * a reference to a contained resource, or to another type than `type`.
 */
function parseReferenceKey(reference: unknown, type?: string): unknown[] {
  const { reference: address } = (reference ?? {}) as { reference?: unknown }
  const [, referencedType, id] =
    /(?:^|\/)([A-Z][A-Za-z]*)\/([^/#?]+)(?:\/_history\/[^/]+)?$/.exec(typeof address === 'string' ? address : '') ?? []
  const isOtherType = type !== undefined && referencedType !== type
  return id === undefined || isOtherType ? [] : [id]
}
