import { html, name, withoutDirectionMarks } from './html.ts'
import { textsIn } from './language.ts'
import { button, form } from './parts/forms.ts'
import { page, type Organisation, type PageFacts } from './parts/frame.ts'

interface ConsentFacts extends PageFacts {
  action: string
  csrf: string
  organisation: Organisation
  application: string
  user: { name: string; username: string }
  /** The requested scopes with descriptions. */
  scopes: readonly { name: string; description: string }[]
}

/** Returns the page with the form field `decision`: `allow` or `deny`. */
export function consentPage({ action, csrf, application, user, scopes, ...facts }: ConsentFacts): string {
  const words = textsIn(facts.language).consent
  const who = html`<strong>${name(application)}</strong>`
  const deny = button(words.deny, { name: 'decision', value: 'deny', quiet: true })
  const allow = button(words.allow, { name: 'decision', value: 'allow' })
  return page({
    ...facts,
    title: words.title(withoutDirectionMarks(application)),
    heading: words.heading(name(application)),
    main: html`<p class="lead">${scopes.length > 0 ? words.lead(who, name(facts.organisation.name)) : words.nothing(who)}</p>
${scopes.length > 0 && html`<ul class="scopes">${scopes.map((scope) => html`<li>${scope.description || name(scope.name)}</li>`)}</ul>`}
<p>${words.as(html`<strong>${name(user.name)}</strong>`, name(user.username))}</p>
<p class="hint">${words.trust}</p>
${form({ action, hidden: { csrf }, main: [allow, deny] })}`,
  })
}
