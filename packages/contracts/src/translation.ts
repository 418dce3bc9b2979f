type Translations = readonly { locale: string; property: string; value: string }[]

/** The languages in which texts were found, by the list of wanted ones: each request has a list of its own. */
const languages = new WeakMap<readonly string[], Set<string>>()

/** The languages of the texts that `translated` has found with this list, as BCP 47 writes them. */
export const languagesFound = (locales: readonly string[]): string[] => [...(languages.get(locales) ?? [])]

/**
 * The value of `property` in the first of `locales` that has one, else `plain`.
 * `de-AT` also finds `de`; locales and property names compare without regard to case and to `-` or `_`.
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
