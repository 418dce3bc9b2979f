import { wordsWithout } from './words-without.ts'

/** The name and message of an error's own cause, without `secrets`; nothing where it has no cause. */
export function causeOf({ cause }: Error, secrets: readonly string[]): { cause?: string } {
  return cause instanceof Error ? { cause: wordsWithout(secrets)(`${cause.name}: ${cause.message}`) } : {}
}
