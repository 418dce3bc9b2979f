import { unknownVariable } from './variable-problem.ts'

/** Matches a variable, and its escaped form `$${name}`, which stands for the text `${name}`. */
const placeholderPattern = /\$?\$\{([^{}\n]*)\}/g

/**
 * Replaces `${name}` by the value of the variable in all strings of nested settings. Does not replace variables within
 * values. `encode` encodes each value. Throws `VariableProblem` for unknown variables.
 */
export function replaceVariables<Settings>(
  settings: Settings,
  variables: ReadonlyMap<string, string>,
  encode: (value: string) => string = (value) => value,
): Settings {
  const replace = (value: unknown): unknown => {
    if (typeof value === 'string') return replaceInText(value, variables, encode)
    if (Array.isArray(value)) return value.map(replace)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replace(item)]))
  }
  return replace(settings) as Settings
}

/** Replaces the variables in a text. `$${name}` becomes the text `${name}`. */
function replaceInText(
  text: string,
  variables: ReadonlyMap<string, string>,
  encode: (value: string) => string,
): string {
  return text.replace(placeholderPattern, (placeholder: string, inside: string) => {
    if (placeholder.startsWith('$$')) return placeholder.slice(1)
    const name = inside.trim()
    const value = variables.get(name)
    if (value === undefined) throw unknownVariable(name)
    return encode(value)
  })
}

/** Returns the names of the variables in all strings of nested settings. */
export function findVariablesInSettings(...settings: unknown[]): Set<string> {
  const names = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value === 'string') {
      for (const [placeholder, inside] of value.matchAll(placeholderPattern))
        if (!placeholder.startsWith('$$')) names.add(inside!.trim())
    } else if (value !== null && typeof value === 'object') Object.values(value).forEach(collect)
  }
  settings.forEach(collect)
  return names
}

/** Returns whether settings may contain a variable. If not, the caller need not decrypt variables. */
export function namesVariables(...settings: unknown[]): boolean {
  return JSON.stringify(settings).includes('${')
}
