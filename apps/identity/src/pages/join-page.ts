import { html, name } from './html.ts'
import { textsIn } from './language.ts'
import { button, form } from './parts/forms.ts'
import { page, type Organisation, type PageFacts } from './parts/frame.ts'

export interface JoinFacts extends PageFacts {
  action: string
  csrf: string
  organisation: Organisation
  user: { name: string; username: string }
  hidden?: Record<string, string>
}

/** Returns the invitation page for a user with single sign-on. Its form has no visible fields. */
export function joinPage({ action, csrf, user, hidden, ...facts }: JoinFacts): string {
  const texts = textsIn(facts.language)
  const words = texts.join
  return page({
    ...facts,
    texts,
    title: words.title,
    heading: words.title,
    main: html`<p class="lead">${words.lead(html`<strong>${name(user.name)}</strong>`, html`<strong>${name(facts.organisation.name)}</strong>`)}</p>
<p>${words.sso}</p>
${form({ action, hidden: { ...hidden, csrf }, main: button(words.submit) })}`,
  })
}
