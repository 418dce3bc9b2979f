import { safeHref, html, name, type HtmlMarkup } from './html.ts'
import { textsIn } from './language.ts'
import { button, field, form, summary } from './parts/forms.ts'
import { page, type PageFacts } from './parts/frame.ts'

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
export function signInPage({
  action,
  csrf,
  application,
  username,
  message,
  wrong,
  providers = [],
  ...facts
}: SignInFacts): string {
  const texts = textsIn(facts.language)
  const words = texts.signIn
  return page({
    ...facts,
    title: words.title,
    failed: message !== undefined || wrong !== undefined,
    main: html`${application && html`<p class="lead">${words.toApplication(html`<strong>${name(application)}</strong>`)}</p>`}
${summary(texts, message, wrong)}
${form({
  action,
  hidden: { csrf },
  main: html`${field({
    name: 'username',
    label: texts.username,
    autocomplete: 'username',
    value: username ?? '',
    maxlength: 255,
    error: wrong?.username,
    autofocus: !message && !wrong && !username,
  })}
${field({
  name: 'password',
  label: texts.password,
  type: 'password',
  autocomplete: 'current-password',
  error: wrong?.password,
  autofocus: !message && !wrong && Boolean(username),
})}
${button(words.submit)}`,
})}
<p class="aside"><a href="${facts.prefix ?? ''}/account/forgot-password">${words.forgot}</a></p>
${
  providers.length > 0 &&
  others(
    words.or,
    providers.map(
      ({ href, label }) =>
        html`<li><a class="button quiet" href="${safeHref(href)}">${words.provider(name(label))}</a></li>`,
    ),
  )
}`,
  })
}

const others = (or: string, links: HtmlMarkup[]) => html`<p class="or"><span>${or}</span></p>
<ul class="providers">${links}</ul>`
