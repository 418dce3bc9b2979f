type Eval = (focus: unknown[]) => unknown[]

/** Whatever is there and is not false: a criterion may be a path that leads somewhere or nowhere. */
export const isTrue = ([value]: readonly unknown[]): boolean => value !== undefined && value !== false
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const texts = (values: readonly unknown[]): string[] => values.map(textOf)
const textIn = (given: Eval | undefined, focus: unknown[]): string => textOf(given?.(focus)[0] ?? '')

/** Of each item by itself. */
const matching = (focus: readonly unknown[], given: Eval | undefined): unknown[] =>
  given ? focus.filter((one) => isTrue(given([one]))) : [...focus]

type OfTexts = (text: string, argument: string) => unknown
const ofTexts =
  (made: OfTexts) =>
  (focus: unknown[], [given]: Eval[]): unknown[] =>
    texts(focus).map((text) => made(text, textIn(given, focus)))

/** By their names in FHIRPath: what each makes of a collection, and of what stands in its brackets. */
export const functions: Readonly<Record<string, (focus: unknown[], given: Eval[]) => unknown[]>> = {
  where: (focus, [given]) => matching(focus, given),
  select: (focus, [given]) => (given ? focus.flatMap((one) => given([one])) : []),
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
    focus.flatMap((one) => {
      const { extension = [] } = (one ?? {}) as { extension?: { url?: unknown }[] }
      return extension.filter(({ url }) => url === textIn(given, focus))
    }),
  getResourceKey: (focus) => focus.flatMap((one) => (one as { id?: unknown } | null)?.id ?? []),
  toString: (focus: unknown[]) => texts(focus),
  lower: ofTexts((text) => text.toLowerCase()),
  upper: ofTexts((text) => text.toUpperCase()),
  startsWith: ofTexts((text, argument) => text.startsWith(argument)),
  endsWith: ofTexts((text, argument) => text.endsWith(argument)),
  contains: ofTexts((text, argument) => text.includes(argument)),
}

/** The id that a reference leads to, as `getResourceKey` has it; nothing where it leads to another type, or into the resource itself. */
export function referenceKey(reference: unknown, type?: string): unknown[] {
  const { reference: address } = (reference ?? {}) as { reference?: unknown }
  const [, kind, id] =
    /(?:^|\/)([A-Z][A-Za-z]*)\/([^/#?]+)(?:\/_history\/[^/]+)?$/.exec(typeof address === 'string' ? address : '') ?? []
  return id === undefined || (type !== undefined && kind !== type) ? [] : [id]
}
