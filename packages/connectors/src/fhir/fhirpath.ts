import { SourceProblem } from '@sluice/row-stream'
import { isExact } from '../http-connector/exact-json.ts'

export type FhirPathExpression = (focus: unknown) => unknown[]
type CollectionFunction = (focus: unknown[]) => unknown[]

const sign =
  /\s*(?:'((?:[^'\\]|\\.)*)'|(\d+(?:\.\d+)?)|(\$this|%\w+)|([A-Za-z_]\w*)|`([^`]+)`|(!=|<=|>=|[().,|=<>[\]&+*/-]))/y

/** Maximum number of tokens of an expression. Nested and chained expressions are parsed and evaluated recursively. */
const maxTokens = 1_000

interface PathToken {
  kind: 'text' | 'number' | 'name' | 'sign' | 'end'
  text: string
}

/** Binary operators by precedence, lowest first. */
const levels = [['or', 'xor'], ['and'], ['=', '!=', '<', '>', '<=', '>='], ['|'], ['&', '+', '-'], ['*', '/']]

/**
 * Compiles the subset of FHIRPath that reports and views use: paths, `where`, comparisons, `and`, `or`, and the functions of
 * fhirpath-functions.ts. `%name` is the current value in `variables`. Throws `SourceProblem` NOT_SUPPORTED for everything else.
 */
export function fhirPath(expression: string, variables: Readonly<Record<string, unknown>> = {}): FhirPathExpression {
  const tokens = tokensOf(expression)
  let at = 0
  const peek = (): PathToken => tokens[at] ?? { kind: 'end', text: '' }
  const take = (): PathToken => {
    const token = peek()
    at += 1
    return token
  }
  const isSign = (text: string) => peek().kind === 'sign' && peek().text === text
  const demand = (text: string) => {
    if (!isSign(text)) throw notSupported(expression)
    at += 1
  }

  function binary(level: number): CollectionFunction {
    const operators = levels[level]
    if (!operators) return path()
    let left = binary(level + 1)
    while (peek().kind !== 'text' && operators.includes(peek().text)) {
      const operator = take().text
      const [item, other] = [left, binary(level + 1)]
      left = (focus) => combined(operator, item(focus), other(focus))
    }
    return left
  }

  function path(): CollectionFunction {
    let whole = term()
    for (;;) {
      if (isSign('.')) {
        at += 1
        const [before, next] = [whole, member(false)]
        whole = (focus) => next(before(focus))
      } else if (isSign('[')) {
        at += 1
        const [before, place] = [whole, binary(0)]
        demand(']')
        whole = (focus) => {
          const index = Number(place(focus)[0])
          return before(focus).slice(index, index + 1)
        }
      } else return whole
    }
  }

  function term(): CollectionFunction {
    const { kind, text } = peek()
    if (kind === 'text' || kind === 'number') {
      at += 1
      return () => [kind === 'text' ? text : Number(text)]
    }
    if (!isSign('(')) return member(true)
    at += 1
    const inner = binary(0)
    demand(')')
    return inner
  }

  /** Parses a field or a function. A resource type at the start of a path is the resource itself. */
  function member(first: boolean): CollectionFunction {
    const { kind, text: name } = take()
    if (kind !== 'name') throw notSupported(expression)
    if (first && name === '$this') return (focus) => focus
    if (first && name.startsWith('%')) return variable(name.slice(1))
    if (first && (name === 'true' || name === 'false')) return () => [name === 'true']
    if (isSign('(')) return called(name)
    if (first && /^[A-Z]/.test(name)) return (focus) => focus
    if (isSign('.') && tokens[at + 1]?.text === 'ofType') {
      at += 3
      const type = take().text
      demand(')')
      return (focus) => field(focus, `${name}${type[0]?.toUpperCase()}${type.slice(1)}`)
    }
    return (focus) => field(focus, name)
  }

  function variable(name: string): CollectionFunction {
    if (!Object.hasOwn(variables, name)) throw notSupported(expression)
    return () => [variables[name]]
  }

  function called(name: string): CollectionFunction {
    demand('(')
    if (name === 'getReferenceKey') {
      // The argument is a type, not a path.
      const type = isSign(')') ? undefined : take().text
      demand(')')
      return (focus) => focus.flatMap((item) => referenceKey(item, type))
    }
    const given: CollectionFunction[] = []
    while (!isSign(')')) {
      given.push(binary(0))
      if (!isSign(')')) demand(',')
    }
    at += 1
    const made = Object.hasOwn(functions, name) ? functions[name] : undefined
    if (!made) throw notSupported(expression)
    return (focus) => made(focus, given)
  }

  const whole = binary(0)
  if (peek().kind !== 'end') throw notSupported(expression)
  return (focus) => whole([focus])
}

function tokensOf(expression: string): PathToken[] {
  const tokens: PathToken[] = []
  sign.lastIndex = 0
  while (sign.lastIndex < expression.trimEnd().length) {
    const found = sign.exec(expression)
    if (!found || tokens.length >= maxTokens) throw notSupported(expression)
    const [, text, number, own, name, quoted, other] = found
    if (text !== undefined) tokens.push({ kind: 'text', text: text.replaceAll(/\\(.)/g, '$1') })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (other !== undefined) tokens.push({ kind: 'sign', text: other })
    else tokens.push({ kind: 'name', text: own ?? name ?? quoted ?? '' })
  }
  return tokens
}

/** Choice elements, whose names contain their type: `value` is `valueString`, `valueCoding` … */
const choices = /^(value|effective|onset|abatement|deceased|occurrence|performed|medication|multipleBirth|timing)$/

function field(focus: readonly unknown[], name: string): unknown[] {
  return focus.flatMap((item) => {
    if (typeof item !== 'object' || item === null) return []
    const fields = item as Record<string, unknown>
    const key =
      name in fields || !choices.test(name) ? name : Object.keys(fields).find((each) => isOfChoice(each, name))
    const value = key === undefined ? undefined : fields[key]
    return value === undefined || value === null ? [] : Array.isArray(value) ? (value as unknown[]) : [value]
  })
}

const isOfChoice = (key: string, name: string): boolean => key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length))

const notSupported = (expression: string): SourceProblem =>
  new SourceProblem(
    'NOT_SUPPORTED',
    `The FHIRPath "${expression.slice(0, 200)}" has something that is not read in this version: write it with paths, where, and comparisons.`,
  )

const truth = ([value]: readonly unknown[]): boolean | undefined => (value === undefined ? undefined : value !== false)

/** The result of a comparison with an empty collection is empty, which is not true. */
function combined(operator: string, left: unknown[], right: unknown[]): unknown[] {
  const [item, other] = [truth(left), truth(right)]
  if (operator === '|') return [...new Set([...left, ...right])]
  if (operator === 'and') return item === false || other === false ? [false] : item && other ? [true] : []
  if (operator === 'or') return item || other ? [true] : item === false && other === false ? [false] : []
  if (operator === '&') return [`${left.join('')}${right.join('')}`]
  if (left.length === 0 || right.length === 0) return []
  if (operator === 'xor') return [item !== other]
  const same = JSON.stringify(left) === JSON.stringify(right)
  if (operator === '=' || operator === '!=') return [same === (operator === '=')]
  const [first, second] = [left[0], right[0]].map(plain) as [number, number]
  switch (operator) {
    case '+':
      return [first + second]
    case '-':
      return [first - second]
    case '*':
      return [first * second]
    case '/':
      return second === 0 ? [] : [first / second]
    case '<':
      return [first < second]
    case '>':
      return [first > second]
    default:
      return [operator === '<=' ? first <= second : first >= second]
  }
}

const plain = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && isExact(value) ? Number(JSON.stringify(value)) : value

/** Whether the first value exists and is not false: a criterion can be a path. */
export const isTrue = ([value]: readonly unknown[]): boolean => value !== undefined && value !== false
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const texts = (values: readonly unknown[]): string[] => values.map(textOf)
const textIn = (given: CollectionFunction | undefined, focus: unknown[]): string => textOf(given?.(focus)[0] ?? '')

const matching = (focus: readonly unknown[], given: CollectionFunction | undefined): unknown[] =>
  given ? focus.filter((item) => isTrue(given([item]))) : [...focus]

type TextFunction = (text: string, argument: string) => unknown
const ofTexts =
  (made: TextFunction) =>
  (focus: unknown[], [given]: CollectionFunction[]): unknown[] =>
    texts(focus).map((text) => made(text, textIn(given, focus)))

/** FHIRPath functions by name. Each one maps a collection and the arguments to a collection. */
const functions: Readonly<Record<string, (focus: unknown[], given: CollectionFunction[]) => unknown[]>> = {
  where: (focus, [given]) => matching(focus, given),
  select: (focus, [given]) => (given ? focus.flatMap((item) => given([item])) : []),
  exists: (focus, [given]) => [matching(focus, given).length > 0],
  all: (focus, [given]) => [matching(focus, given).length === focus.length],
  empty: (focus) => [focus.length === 0],
  hasValue: (focus) => [focus.length > 0],
  not: (focus) => (focus.length === 0 ? [] : [focus[0] === false]),
  count: (focus) => [focus.length],
  first: (focus) => focus.slice(0, 1),
  last: (focus) => focus.slice(-1),
  tail: (focus) => focus.slice(1),
  skip: (focus, [given]) => focus.slice(Number(textIn(given, focus))),
  take: (focus, [given]) => focus.slice(0, Number(textIn(given, focus))),
  distinct: (focus) => [...new Set(focus)],
  join: (focus, [given]) => (focus.length === 0 ? [] : [texts(focus).join(textIn(given, focus))]),
  iif: (focus, [given, then, otherwise]): unknown[] => (isTrue(given?.(focus) ?? []) ? then : otherwise)?.(focus) ?? [],
  extension: (focus, [given]) =>
    focus.flatMap((item) => {
      const { extension = [] } = (item ?? {}) as { extension?: { url?: unknown }[] }
      return extension.filter(({ url }) => url === textIn(given, focus))
    }),
  getResourceKey: (focus) => focus.flatMap((item) => (item as { id?: unknown } | null)?.id ?? []),
  toString: (focus: unknown[]) => texts(focus),
  lower: ofTexts((text) => text.toLowerCase()),
  upper: ofTexts((text) => text.toUpperCase()),
  startsWith: ofTexts((text, argument) => text.startsWith(argument)),
  endsWith: ofTexts((text, argument) => text.endsWith(argument)),
  contains: ofTexts((text, argument) => text.includes(argument)),
}

/** Returns the id of a reference, as `getResourceKey` does; empty if it refers to another type or to a contained resource. */
function referenceKey(reference: unknown, type?: string): unknown[] {
  const { reference: address } = (reference ?? {}) as { reference?: unknown }
  const [, kind, id] =
    /(?:^|\/)([A-Z][A-Za-z]*)\/([^/#?]+)(?:\/_history\/[^/]+)?$/.exec(typeof address === 'string' ? address : '') ?? []
  return id === undefined || (type !== undefined && kind !== type) ? [] : [id]
}
