import { readFileSync } from 'node:fs'

type Environment = Readonly<Record<string, string | undefined>>

/** Parses one environment variable. If `parse` throws, the variable's name is put before the error's message. */
export interface Setting<T> {
  parse(text: string): T
  fallback?: T
  secret?: boolean
}

type SettingValues<Shape> = { [Name in keyof Shape]: Shape[Name] extends Setting<infer T> ? T : never }

/** All mistakes in the environment variables, one per line. */
export class SettingsProblem extends Error {
  override readonly name = 'SettingsProblem'
  readonly mistakes: string[]

  constructor(mistakes: string[]) {
    super(`The settings are not usable:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`)
    this.mistakes = mistakes
  }
}

/**
 * Reads all variables of `shape`. `X_FILE` may name a file with the value of `X`; its content is trimmed. Throws
 * `SettingsProblem` with all mistakes. Returns the values, and the texts of the secret ones for log redaction.
 */
export function readSettings<Shape extends Record<string, Setting<unknown>>>(
  environment: Environment,
  shape: Shape,
): { values: SettingValues<Shape>; secrets: string[] } {
  const mistakes: string[] = []
  const secrets: string[] = []
  const values: Record<string, unknown> = {}

  for (const [name, setting] of Object.entries(shape)) {
    try {
      const text = readSetting(environment, name)
      if (text === undefined) {
        if (!('fallback' in setting)) throw new Error('is required')
        values[name] = setting.fallback
      } else {
        if (setting.secret) secrets.push(text)
        values[name] = setting.parse(text)
      }
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message}`)
    }
  }
  if (mistakes.length > 0) throw new SettingsProblem(mistakes)
  return { values: values as SettingValues<Shape>, secrets }
}

/** Returns the value of a variable, or the content of the file that `X_FILE` names. Throws if both are set. */
function readSetting(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim() || undefined
  const file = environment[`${name}_FILE`]?.trim() || undefined
  if (text !== undefined && file !== undefined)
    throw new Error(`is given twice: as ${name} and as ${name}_FILE; keep one`)
  if (file === undefined) return text
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch (error) {
    throw new Error(`cannot be read from ${file} (${(error as NodeJS.ErrnoException).code})`, { cause: error })
  }
}

const withFallback = <T>(setting: Setting<T>, fallback: T | undefined): Setting<T> =>
  fallback === undefined ? setting : { ...setting, fallback }

export const textSetting = (fallback?: string): Setting<string> => withFallback({ parse: (text) => text }, fallback)

export const secretSetting = ({ minLength = 24 } = {}): Setting<string> => ({
  secret: true,
  parse(text) {
    if (text.length < minLength) throw new Error(`must have at least ${minLength} characters`)
    return text
  },
})

export const oneOf = <const T extends string>(allowed: readonly T[], fallback?: T): Setting<T> =>
  withFallback(
    {
      parse(text) {
        const allowedValue = allowed.find((value) => value === text)
        if (!allowedValue) throw new Error(`must be one of ${allowed.join(', ')}, not "${text}"`)
        return allowedValue
      },
    },
    fallback,
  )

export const integerSetting = ({
  min,
  max,
  fallback,
}: {
  min: number
  max: number
  fallback?: number
}): Setting<number> =>
  withFallback(
    {
      parse(text) {
        const value = Number(text)
        if (!Number.isInteger(value) || value < min || value > max)
          throw new Error(`must be a whole number from ${min} to ${max}, not "${text}"`)
        return value
      },
    },
    fallback,
  )

export const portSetting = (fallback?: number): Setting<number> => integerSetting({ min: 1, max: 65_535, fallback })

export const urlSetting = (protocols: readonly string[], fallback?: string): Setting<string> =>
  withFallback(
    {
      parse(text) {
        const parsed = URL.canParse(text) ? new URL(text) : undefined
        if (!parsed || !protocols.includes(parsed.protocol))
          throw new Error(`must be a URL that starts with ${protocols.map((name) => `${name}//`).join(' or ')}`)
        return text.replace(/\/+$/, '')
      },
    },
    fallback,
  )

/** Returns the definition of a setting with a database URL. The whole URL is secret, because it contains a password. */
export const databaseUrl = (): Setting<string> => ({ ...urlSetting(['postgres:', 'postgresql:']), secret: true })

/** Returns the definition of a setting with an optional URL that may contain a password. */
export const secretUrl = (protocols: readonly string[]): Setting<string | undefined> => ({
  parse: urlSetting(protocols).parse,
  secret: true,
  fallback: undefined,
})

export const listSetting = (fallback: string[] = []): Setting<string[]> => ({
  fallback,
  parse: (text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
})
