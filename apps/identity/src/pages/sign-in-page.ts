import { toSafeHref, html, isolateName, type HtmlMarkup } from './html.ts'
import { readPageTexts } from './choose-language.ts'
import { renderButton, renderField, renderForm, renderSummary } from './components/forms.ts'
import { renderFrame, type PageFacts } from './components/page-layout.ts'
import type { PageTexts } from './texts/en.ts'

export interface SignInFacts extends PageFacts {
  action: string
  csrf: string
  /** The application that the user signs in to. */
  application?: string
  username?: string
  /** The reason why the last attempt failed. */
  message?: string
  fieldErrors?: { username?: string; password?: string }
  /** Links to SSO providers. */
  providers?: readonly { href: string; label: string }[]
  organisationForm?: OrganisationForm
}

/**
 * The form that finds an organisation's SSO providers. It has the organisation's code and the error of the last
 * attempt.
 */
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
  fieldErrors,
  providers = [],
  organisationForm,
  ...pageFacts
}: SignInFacts): string {
  const texts = readPageTexts(pageFacts.language)
  const pageTexts = texts.signIn
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title,
    failed: message !== undefined || fieldErrors !== undefined || organisationForm?.error !== undefined,
    main: html`${application && html`<p class="lead">${pageTexts.toApplication(html`<strong>${isolateName(application)}</strong>`)}</p>`}
${renderSummary(texts, message, { ...fieldErrors, organisation: organisationForm?.error })}
${renderForm({
  action,
  hidden: { csrf },
  main: html`${renderField({
    name: 'username',
    label: texts.username,
    autocomplete: 'username',
    value: username ?? '',
    maxlength: 255,
    error: fieldErrors?.username,
    autofocus: !message && !fieldErrors && !username && !organisationForm,
  })}
${renderField({
  name: 'password',
  label: texts.password,
  type: 'password',
  autocomplete: 'current-password',
  error: fieldErrors?.password,
  autofocus: !message && !fieldErrors && Boolean(username) && !organisationForm,
})}
${renderButton(pageTexts.submit)}`,
})}
<p class="aside"><a href="${pageFacts.prefix ?? ''}/account/forgot-password">${pageTexts.forgot}</a></p>
${
  providers.length > 0 &&
  renderProviderLinks(
    pageTexts.or,
    providers.map(
      ({ href, label }) =>
        html`<li><a class="button quiet" href="${toSafeHref(href)}">${pageTexts.provider(isolateName(label))}</a></li>`,
    ),
  )
}
${organisationForm && renderOrganisationForm(texts, organisationForm)}`,
  })
}

/** Returns the form in which users of single sign-on enter the code of their organisation. */
const renderOrganisationForm = (
  { signIn: pageTexts }: PageTexts,
  { action, code = '', error }: OrganisationForm,
) => html`<p class="or"><span>${pageTexts.or}</span></p>
${renderForm({
  method: 'get',
  action,
  hidden: {},
  main: html`${renderField({
    name: 'organisation',
    label: pageTexts.organisation,
    hint: pageTexts.organisationHint,
    error,
    autocomplete: 'organization',
    value: code,
    maxlength: 255,
  })}
${renderButton(pageTexts.organisationSubmit, { quiet: true })}`,
})}`

const renderProviderLinks = (or: string, links: HtmlMarkup[]) => html`<p class="or"><span>${or}</span></p>
<ul class="providers">${links}</ul>`
