import { html, isolateName, removeDirectionMarks } from './html.ts'
import { readPageTexts } from './language.ts'
import { renderButton, renderForm } from './parts/forms.ts'
import { renderFrame, type Organisation, type PageFacts } from './parts/page-layout.ts'

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
export function renderConsentPage({ action, csrf, application, user, scopes, ...facts }: ConsentFacts): string {
  const words = readPageTexts(facts.language).consent
  const who = html`<strong>${isolateName(application)}</strong>`
  const deny = renderButton(words.deny, { name: 'decision', value: 'deny', quiet: true })
  const allow = renderButton(words.allow, { name: 'decision', value: 'allow' })
  return renderFrame({
    ...facts,
    title: words.title(removeDirectionMarks(application)),
    heading: words.heading(isolateName(application)),
    main: html`<p class="lead">${scopes.length > 0 ? words.lead(who, isolateName(facts.organisation.name)) : words.nothing(who)}</p>
${scopes.length > 0 && html`<ul class="scopes">${scopes.map((scope) => html`<li>${scope.description || isolateName(scope.name)}</li>`)}</ul>`}
<p>${words.as(html`<strong>${isolateName(user.name)}</strong>`, isolateName(user.username))}</p>
<p class="hint">${words.trust}</p>
${renderForm({ action, hidden: { csrf }, main: [allow, deny] })}`,
  })
}
