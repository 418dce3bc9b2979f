import type { Request } from 'express'
import { de } from './texts/de.ts'
import { en, type PageTexts } from './texts/en.ts'
import { fr } from './texts/fr.ts'

/** The supported languages; the first one is the default. */
const all: Record<string, PageTexts> = { en, de, fr }

export const languages = Object.keys(all)

/** Returns the supported language that fits Accept-Language best. */
export const chooseLanguage = (request: Request): string => request.acceptsLanguages(languages) || 'en'

/** Returns the language of the first locale that the pages support, or `en`. */
export const chooseLanguageForLocales = (locales: readonly string[]): string =>
  locales.map((locale) => locale.split(/[-_]/)[0]!.toLowerCase()).find((language) => languages.includes(language)) ??
  'en'

export const readPageTexts = (language: string | undefined): PageTexts => all[language ?? 'en'] ?? en
