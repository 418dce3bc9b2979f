import type { Request } from 'express'
import { de } from './texts/de.ts'
import { en, type PageTexts } from './texts/en.ts'
import { fr } from './texts/fr.ts'

/** The supported languages; the first one is the default. */
const textsByLanguage: Record<string, PageTexts> = { en, de, fr }

export const supportedLanguages = Object.keys(textsByLanguage)

/** Returns the supported language that fits Accept-Language best. */
export const chooseLanguage = (request: Request): string => request.acceptsLanguages(supportedLanguages) || 'en'

/** Returns the first supported language in a list of locales, or `en`. */
export const chooseLanguageForLocales = (locales: readonly string[]): string =>
  locales
    .map((locale) => locale.split(/[-_]/)[0]!.toLowerCase())
    .find((language) => supportedLanguages.includes(language)) ?? 'en'

export const readPageTexts = (language: string | undefined): PageTexts => textsByLanguage[language ?? 'en'] ?? en
