type Translations = readonly { locale: string; property: string; value: string }[]

/** The languages of the translations that each request has used. The key is the request's list of preferred languages. */
const languages = new WeakMap<readonly string[], Set<string>>()

/** Returns the languages, as BCP 47 tags, of the translations that `translated` has returned for this list. */
export const languagesFound = (locales: readonly string[]): string[] => [...(languages.get(locales) ?? [])]

/**
 * Returns the translation of `property` in the first of `locales` that has one, else `plain`. `de-AT` also matches `de`. Names
 * are compared regardless of case, and `-` equals `_`.
 */
export function translated(
  plain: string,
  translations: Translations,
  property: string,
  locales: readonly string[],
): string {
  if (translations.length === 0) return plain
  const wanted = normal(property)
  for (const locale of locales) {
    for (let tag = normal(locale); tag; tag = tag.slice(0, Math.max(0, tag.lastIndexOf('-')))) {
      const found = translations.find((entry) => normal(entry.property) === wanted && normal(entry.locale) === tag)
      if (found) {
        languages.set(locales, (languages.get(locales) ?? new Set()).add(found.locale.replaceAll('_', '-')))
        return found.value
      }
    }
  }
  return plain
}

const normal = (name: string) => name.toLowerCase().replaceAll('_', '-')
