import { toSafeHref, html, isolateName, type HtmlMarkup } from './html.ts'
import { readPageTexts } from './language.ts'
import { renderButton, renderField, renderForm, renderSummary } from './parts/forms.ts'
import { renderFrame, type PageFacts } from './parts/page-layout.ts'

export interface SignInFacts extends PageFacts {
  action: string
  csrf: string
  /** The application that the user signs in to. */
  application?: string
  username?: string
  /** The reason why the last try failed. */
  message?: string
  wrong?: { username?: string; password?: string }
  /** Links to SSO providers. */
  providers?: readonly { href: string; label: string }[]
}

/** Returns the page with the form fields `username` and `password`. */
export function renderSignInPage({
  action,
  csrf,
  application,
  username,
  message,
  wrong,
  providers = [],
  ...facts
}: SignInFacts): string {
  const texts = readPageTexts(facts.language)
  const words = texts.signIn
  return renderFrame({
    ...facts,
    title: words.title,
    failed: message !== undefined || wrong !== undefined,
    main: html`${application && html`<p class="lead">${words.toApplication(html`<strong>${isolateName(application)}</strong>`)}</p>`}
${renderSummary(texts, message, wrong)}
${renderForm({
  action,
  hidden: { csrf },
  main: html`${renderField({
    name: 'username',
    label: texts.username,
    autocomplete: 'username',
    value: username ?? '',
    maxlength: 255,
    error: wrong?.username,
    autofocus: !message && !wrong && !username,
  })}
${renderField({
  name: 'password',
  label: texts.password,
  type: 'password',
  autocomplete: 'current-password',
  error: wrong?.password,
  autofocus: !message && !wrong && Boolean(username),
})}
${renderButton(words.submit)}`,
})}
<p class="aside"><a href="${facts.prefix ?? ''}/account/forgot-password">${words.forgot}</a></p>
${
  providers.length > 0 &&
  renderProviderLinks(
    words.or,
    providers.map(
      ({ href, label }) =>
        html`<li><a class="button quiet" href="${toSafeHref(href)}">${words.provider(isolateName(label))}</a></li>`,
    ),
  )
}`,
  })
}

const renderProviderLinks = (or: string, links: HtmlMarkup[]) => html`<p class="or"><span>${or}</span></p>
<ul class="providers">${links}</ul>`
