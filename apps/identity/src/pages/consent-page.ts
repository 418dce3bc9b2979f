import { html, isolateName, removeDirectionMarks } from './html.ts'
import { readPageTexts } from './choose-language.ts'
import { renderButton, renderForm } from './components/forms.ts'
import { renderFrame, type Organisation, type PageFacts } from './components/page-layout.ts'

interface ConsentFacts extends PageFacts {
  action: string
  csrf: string
  organisation: Organisation
  application: string
  user: { name: string; username: string }
  /** The requested scopes, each with its description. */
  scopes: readonly { name: string; description: string }[]
}

/** Returns the page with the form field `decision`: `allow` or `deny`. */
export function renderConsentPage({ action, csrf, application, user, scopes, ...pageFacts }: ConsentFacts): string {
  const pageTexts = readPageTexts(pageFacts.language).consent
  const who = html`<strong>${isolateName(application)}</strong>`
  const deny = renderButton(pageTexts.deny, { name: 'decision', value: 'deny', quiet: true })
  const allow = renderButton(pageTexts.allow, { name: 'decision', value: 'allow' })
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title(removeDirectionMarks(application)),
    heading: pageTexts.heading(isolateName(application)),
    main: html`<p class="lead">${scopes.length > 0 ? pageTexts.lead(who, isolateName(pageFacts.organisation.name)) : pageTexts.nothing(who)}</p>
${scopes.length > 0 && html`<ul class="scopes">${scopes.map((scope) => html`<li>${scope.description || isolateName(scope.name)}</li>`)}</ul>`}
<p>${pageTexts.as(html`<strong>${isolateName(user.name)}</strong>`, isolateName(user.username))}</p>
<p class="hint">${pageTexts.trust}</p>
${renderForm({ action, hidden: { csrf }, main: [allow, deny] })}`,
  })
}
