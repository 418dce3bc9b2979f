import { safeHref, html, name } from './html.ts'
import { textsIn } from './language.ts'
import { button, form } from './parts/forms.ts'
import { page, type PageFacts } from './parts/frame.ts'

interface SignOutFacts extends PageFacts {
  action: string
  /** Hidden fields, such as the token of oidc-provider. */
  hidden: Record<string, string>
  /** The application that requests the sign-out. */
  application?: string
}

/** Returns the page with the form field `logout`: `yes`, or absent to stay signed in. */
export function signOutPage({ action, hidden, application, ...facts }: SignOutFacts): string {
  const words = textsIn(facts.language).signOut
  return page({
    ...facts,
    title: words.title,
    main: html`<p class="lead">${application ? words.leadFor(html`<strong>${name(application)}</strong>`) : words.lead}</p>
${form({
  action,
  hidden,
  main: [button(words.submit, { name: 'logout', value: 'yes' }), button(words.stay, { quiet: true })],
})}`,
  })
}

interface SignedOutFacts extends PageFacts {
  /** The application that started the sign-out. */
  application?: { name: string; href: string }
}

export function signedOutPage({ application, ...facts }: SignedOutFacts): string {
  const words = textsIn(facts.language).signOut
  return page({
    ...facts,
    title: words.doneTitle,
    main: html`<p class="lead">${words.done}</p>
${application && html`<p><a class="button" href="${safeHref(application.href)}">${words.back(name(application.name))}</a></p>`}`,
  })
}
