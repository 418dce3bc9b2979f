import { translated } from '@sluice/contracts'

interface Translated {
  translations: { locale: string; property: string; value: string }[]
}

/** The value of a text property in the reader's language: see `translated`. Undefined stays undefined. */
export function inLanguageOf<T extends string | null | undefined>(
  row: Translated,
  property: string,
  plain: T,
  locales: readonly string[],
): T extends string ? string : string | undefined {
  const text =
    plain === null || plain === undefined ? undefined : translated(plain, row.translations, property, locales)
  return text as T extends string ? string : string | undefined
}
