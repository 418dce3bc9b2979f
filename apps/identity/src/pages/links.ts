import type { Request, Response } from 'express'
import { Problem } from '@sluice/http'
import { findLink, type FoundLink, type LinkPurpose } from '../sign-in/links.ts'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { languageOf, textsIn } from './language.ts'
import { messagePage } from './message-page.ts'
import { rememberedOrganisation } from './organisation-cookie.ts'
import { sendPage } from './send-page.ts'

/** Whom the token of a request is for. Looking does not use it up: mail programs look at links before people do. */
export async function linkOf(db: Kysely<DB>, token: unknown, purpose: LinkPurpose): Promise<FoundLink | undefined> {
  if (typeof token !== 'string' || !/^[\w-]{20,200}$/.test(token)) return undefined
  return findLink(db, token, purpose)
}

/** One page for links that were used, have expired, or never were: which of them, nobody is told. */
export function sendLinkEnded(request: Request, response: Response, purpose: LinkPurpose, prefix: string): void {
  const language = languageOf(request)
  const words = textsIn(language).link
  const facts = {
    prefix,
    language,
    organisation: rememberedOrganisation(request),
    title: words.title,
    status: 'problem',
  } as const
  const page =
    purpose === 'INVITATION'
      ? messagePage({ ...facts, text: words.invitation })
      : messagePage({
          ...facts,
          text: words.reset,
          link: { href: `${prefix}/account/forgot-password`, label: words.again },
        })
  sendPage(response, 404, page)
}

/** Which field a rule refused, if it is that. */
export function refusedField(error: unknown): string | undefined {
  return error instanceof Problem && error.status === 422 ? error.errors?.[0]?.pointer.slice(1) : undefined
}
