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
 * language: `de-AT` finds `de`. Names match regardless of case, and `-` equals `_`. Records the language of the
 * translation for `listUsedLanguages`.
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
    for (const tag of listMatchingTags(normalizeName(locale))) {
      const translation = translations.find(
        (entry) => normalizeName(entry.property) === normalizedProperty && normalizeName(entry.locale) === tag,
      )
      if (translation) {
        recordUsedLanguage(locales, translation.locale)
        return translation.value
      }
    }
  }
  return plain
}

/** Returns a language tag and its prefixes, longest first: `zh-hant-tw`, `zh-hant`, `zh`. */
function listMatchingTags(tag: string): string[] {
  const subtags = tag.split('-')
  return subtags.map((_, index) => subtags.slice(0, subtags.length - index).join('-'))
}

function recordUsedLanguage(locales: readonly string[], language: string): void {
  const languages = usedLanguages.get(locales) ?? new Set()
  usedLanguages.set(locales, languages.add(language.replaceAll('_', '-')))
}

const normalizeName = (name: string) => name.toLowerCase().replaceAll('_', '-')
