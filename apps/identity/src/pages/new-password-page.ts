import { passwordLength } from '@sluice/contracts'
import { html, name } from './html.ts'
import { textsIn } from './language.ts'
import type { WrongPassword } from './new-password.ts'
import { button, field, form, summary } from './parts/forms.ts'
import { page, type Organisation, type PageFacts } from './parts/frame.ts'

export interface NewPasswordFacts extends PageFacts {
  action: string
  csrf: string
  organisation: Organisation
  user: { name: string; username: string }
  purpose: 'invitation' | 'reset'
  /** What the form brings back besides, such as the link's token. */
  hidden?: Record<string, string>
  wrong?: WrongPassword | undefined
}

/** Asks for `password` and `repeat`. The username is there for password managers. */
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
