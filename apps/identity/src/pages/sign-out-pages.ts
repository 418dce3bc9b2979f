import { toSafeHref, html, isolateName } from './html.ts'
import { readPageTexts } from './language.ts'
import { renderButton, renderForm } from './parts/forms.ts'
import { renderFrame, type PageFacts } from './parts/page-layout.ts'

interface SignOutFacts extends PageFacts {
  action: string
  /** Hidden fields, such as the token of oidc-provider. */
  hidden: Record<string, string>
  /** The application that requests the sign-out. */
  application?: string
}

/** Returns the page with the form field `logout`: `yes`, or absent to stay signed in. */
export function renderSignOutPage({ action, hidden, application, ...facts }: SignOutFacts): string {
  const words = readPageTexts(facts.language).signOut
  return renderFrame({
    ...facts,
    title: words.title,
    main: html`<p class="lead">${application ? words.leadFor(html`<strong>${isolateName(application)}</strong>`) : words.lead}</p>
${renderForm({
  action,
  hidden,
  main: [renderButton(words.submit, { name: 'logout', value: 'yes' }), renderButton(words.stay, { quiet: true })],
})}`,
  })
}

interface SignedOutFacts extends PageFacts {
  /** The application that started the sign-out. */
  application?: { name: string; href: string }
}

export function renderSignedOutPage({ application, ...facts }: SignedOutFacts): string {
  const words = readPageTexts(facts.language).signOut
  return renderFrame({
    ...facts,
    title: words.doneTitle,
    main: html`<p class="lead">${words.done}</p>
${application && html`<p><a class="button" href="${toSafeHref(application.href)}">${words.back(isolateName(application.name))}</a></p>`}`,
  })
}
