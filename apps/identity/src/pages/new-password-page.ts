import { passwordLength } from '@sluice/contracts'
import { html, name } from './html.ts'
import { textsIn } from './language.ts'
import { button, field, form, summary } from './parts/forms.ts'
import { type Organisation, type PageFacts, page } from './parts/frame.ts'
import type { PageTexts } from './texts/en.ts'

export interface NewPasswordFacts extends PageFacts {
  action: string
  csrf: string
  organisation: Organisation
  user: { name: string; username: string }
  purpose: 'invitation' | 'reset'
  /** Hidden form fields, such as the link's token. */
  hidden?: Record<string, string>
  wrong?: WrongPassword | undefined
}

/** Returns the page with the form fields `password` and `repeat`. It contains the username for password managers. */
export function newPasswordPage({ action, csrf, user, purpose, hidden, wrong, ...facts }: NewPasswordFacts): string {
  const texts = textsIn(facts.language)
  const words = texts.newPassword
  const invited = purpose === 'invitation'
  const title = invited ? words.invitationTitle : words.resetTitle
  const { least, most } = passwordLength
  const who = html`<strong>${name(user.name)}</strong>`
  return page({
    ...facts,
    texts,
    title,
    heading: title,
    failed: wrong !== undefined,
    main: html`<p class="lead">${invited ? words.invitationLead(who, html`<strong>${name(facts.organisation.name)}</strong>`) : words.resetLead(who)}</p>
${summary(texts, undefined, wrong)}
${form({
  action,
  hidden: { ...hidden, csrf },
  main: html`${field({ name: 'username', label: texts.username, autocomplete: 'username', value: user.username, readonly: true })}
${field({
  name: 'password',
  label: words.label,
  type: 'password',
  autocomplete: 'new-password',
  error: wrong?.password,
  hint: html`<ul>${words.rules(least, most).map((rule) => html`<li>${rule}</li>`)}</ul>`,
})}
${field({ name: 'repeat', label: words.repeat, type: 'password', autocomplete: 'new-password', error: wrong?.repeat })}
${button(invited ? words.invitationSubmit : words.resetSubmit)}`,
})}`,
  })
}

/** The error of each field. */
export type WrongPassword = Partial<Record<'password' | 'repeat', string>>

/** Returns the errors of a new password and its repetition; undefined if this check finds none. */
export function wrongWith(password: string, repeat: string, texts: PageTexts): WrongPassword | undefined {
  const words = texts.newPassword
  const { least, most } = passwordLength
  const length = [...password].length
  if (length === 0) return { password: words.missing }
  if (length < least) return { password: words.tooShort(least) }
  if (length > most) return { password: words.tooLong(most) }
  if (repeat === '') return { repeat: words.repeatMissing }
  return password === repeat ? undefined : { repeat: words.unequal }
}
