type TranslationList = readonly { locale: string; property: string; value: string }[]

/**
 * The languages of the translations that each request has used. The key is the request's list of preferred languages.
 */
const usedLanguages = new WeakMap<readonly string[], Set<string>>()

/**
 * Returns the languages (BCP 47 tags) of the translations that `translateProperty` has returned for this list of
 * languages.
 */
export const languagesFound = (locales: readonly string[]): string[] => [...(usedLanguages.get(locales) ?? [])]

/**
 * Returns the translation of `property` in the first of `locales` that has one, otherwise `plain`. `de-AT` also matches
 * `de`. Compares names regardless of case, with `-` equal to `_`. Records the language of the translation for
 * `languagesFound`.
 */
export function translateProperty(
  plain: string,
  translations: TranslationList,
  property: string,
  locales: readonly string[],
): string {
  if (translations.length === 0) return plain
  const normalizedProperty = normalizeName(property)
  for (const locale of locales) {
    for (let tag = normalizeName(locale); tag; tag = tag.slice(0, Math.max(0, tag.lastIndexOf('-')))) {
      const translation = translations.find(
        (entry) => normalizeName(entry.property) === normalizedProperty && normalizeName(entry.locale) === tag,
      )
      if (translation) {
        usedLanguages.set(
          locales,
          (usedLanguages.get(locales) ?? new Set()).add(translation.locale.replaceAll('_', '-')),
        )
        return translation.value
      }
    }
  }
  return plain
}

const normalizeName = (name: string) => name.toLowerCase().replaceAll('_', '-')
