import { toSafeHref, html, isolateName } from './html.ts'
import { readPageTexts } from './choose-language.ts'
import { renderButton, renderForm } from './components/forms.ts'
import { renderFrame, type PageFacts } from './components/page-layout.ts'

interface SignOutFacts extends PageFacts {
  action: string
  /** Hidden fields, such as the CSRF token of oidc-provider. */
  hidden: Record<string, string>
  /** The application that requests the sign-out. */
  application?: string
}

/** Returns the page with the form field `logout`: `yes` to sign out; absent to stay signed in. */
export function renderSignOutPage({ action, hidden, application, ...pageFacts }: SignOutFacts): string {
  const pageTexts = readPageTexts(pageFacts.language).signOut
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title,
    main: html`<p class="lead">${application ? pageTexts.leadFor(html`<strong>${isolateName(application)}</strong>`) : pageTexts.lead}</p>
${renderForm({
  action,
  hidden,
  main: [
    renderButton(pageTexts.submit, { name: 'logout', value: 'yes' }),
    renderButton(pageTexts.stay, { quiet: true }),
  ],
})}`,
  })
}

interface SignedOutFacts extends PageFacts {
  /** The application that started the sign-out. */
  application?: { name: string; href: string }
}

export function renderSignedOutPage({ application, ...pageFacts }: SignedOutFacts): string {
  const pageTexts = readPageTexts(pageFacts.language).signOut
  return renderFrame({
    ...pageFacts,
    title: pageTexts.doneTitle,
    main: html`<p class="lead">${pageTexts.done}</p>
${application && html`<p><a class="button" href="${toSafeHref(application.href)}">${pageTexts.back(isolateName(application.name))}</a></p>`}`,
  })
}
