type TranslationList = readonly { locale: string; property: string; value: string }[]

/**
 * The languages of the translations that each request has used. The key is the request's list of preferred languages.
 */
const usedLanguages = new WeakMap<readonly string[], Set<string>>()

/**
 * Returns the languages (BCP 47 tags) of the translations that `translateProperty` has returned for this list of
 * languages.
 */
export const listUsedLanguages = (locales: readonly string[]): string[] => [...(usedLanguages.get(locales) ?? [])]

/**
 * Returns the translation of `property` in the first locale that has one, otherwise `plain`. A locale also matches its
 * language: `de-AT` finds `de`. Names match regardless of case, and `-` equals `_`. Adds the language of the
 * translation to those that `listUsedLanguages` returns for the same array of locales.
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
        const languages = usedLanguages.get(locales) ?? new Set()
        usedLanguages.set(locales, languages.add(translation.locale.replaceAll('_', '-')))
        return translation.value
      }
    }
  }
  return plain
}

const normalizeName = (name: string) => name.toLowerCase().replaceAll('_', '-')
