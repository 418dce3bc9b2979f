import { toSafeHref, html, isolateName, type HtmlMarkup } from './html.ts'
import { readPageTexts } from './language.ts'
import { renderButton, renderField, renderForm, renderSummary } from './parts/forms.ts'
import { renderFrame, type PageFacts } from './parts/page-layout.ts'
import type { PageTexts } from './texts/en.ts'

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
  organisationForm?: OrganisationForm
}

/** The form that finds the SSO providers of an organisation, with the organisation's code and the error of the last try. */
interface OrganisationForm {
  action: string
  code?: string
  error?: string
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
  organisationForm,
  ...facts
}: SignInFacts): string {
  const texts = readPageTexts(facts.language)
  const words = texts.signIn
  return renderFrame({
    ...facts,
    title: words.title,
    failed: message !== undefined || wrong !== undefined || organisationForm?.error !== undefined,
    main: html`${application && html`<p class="lead">${words.toApplication(html`<strong>${isolateName(application)}</strong>`)}</p>`}
${renderSummary(texts, message, { ...wrong, organisation: organisationForm?.error })}
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
    autofocus: !message && !wrong && !username && !organisationForm,
  })}
${renderField({
  name: 'password',
  label: texts.password,
  type: 'password',
  autocomplete: 'current-password',
  error: wrong?.password,
  autofocus: !message && !wrong && Boolean(username) && !organisationForm,
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
}
${organisationForm && renderOrganisationForm(texts, organisationForm)}`,
  })
}

const renderOrganisationForm = (
  { signIn: words }: PageTexts,
  { action, code = '', error }: OrganisationForm,
) => html`<p class="or"><span>${words.or}</span></p>
${renderForm({
  method: 'get',
  action,
  hidden: {},
  main: html`${renderField({
    name: 'organisation',
    label: words.organisation,
    hint: words.organisationHint,
    error,
    autocomplete: 'organization',
    value: code,
    maxlength: 255,
  })}
${renderButton(words.organisationSubmit, { quiet: true })}`,
})}`

const renderProviderLinks = (or: string, links: HtmlMarkup[]) => html`<p class="or"><span>${or}</span></p>
<ul class="providers">${links}</ul>`
