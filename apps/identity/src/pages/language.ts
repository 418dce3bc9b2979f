import type { Request } from 'express'
import { de } from './texts/de.ts'
import { en, type PageTexts } from './texts/en.ts'
import { fr } from './texts/fr.ts'

/** The languages there are, the first being the one for everybody else. */
const all: Record<string, PageTexts> = { en, de, fr }

export const languages = Object.keys(all)

/** The reader's language as one of ours, from Accept-Language. */
export const languageOf = (request: Request): string => request.acceptsLanguages(languages) || 'en'

/** Returns the language of the first locale that the pages support, or `en`. */
export const languageForLocales = (locales: readonly string[]): string =>
  locales.map((locale) => locale.split(/[-_]/)[0]!.toLowerCase()).find((language) => languages.includes(language)) ??
  'en'

export const textsIn = (language: string | undefined): PageTexts => all[language ?? 'en'] ?? en
