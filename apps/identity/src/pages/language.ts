import type { Request } from 'express'
import { en, type Texts } from './texts/en.ts'

/** The languages there are, the first being the one for everybody else. */
const all: Record<string, Texts> = { en }

export const languages = Object.keys(all)

/** The reader's language as one of ours, from Accept-Language. */
export const languageOf = (request: Request): string => request.acceptsLanguages(languages) || 'en'

export const textsIn = (language: string | undefined): Texts => all[language ?? 'en'] ?? en
