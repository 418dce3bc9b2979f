type Translations = readonly { locale: string; property: string; value: string }[]

/** The languages of the texts found, by the list of preferred languages; each request has its own list. */
const languages = new WeakMap<readonly string[], Set<string>>()

/** Returns the languages of the texts that `translated` found with this list, as BCP 47 tags. */
export const languagesFound = (locales: readonly string[]): string[] => [...(languages.get(locales) ?? [])]

/**
 * Returns the value of `property` in the first of `locales` that has one, else `plain`. `de-AT` also matches `de`; locales
 * and property names are compared without regard to case, `-` and `_`.
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
