import { html, type HtmlMarkup, type HtmlValue } from '../html.ts'
import type { PageTexts } from '../texts/en.ts'

interface FormField {
  name: string
  label: string
  type?: 'text' | 'password'
  autocomplete: string
  value?: string | undefined
  hint?: HtmlValue
  error?: string | undefined
  inputmode?: 'text' | 'numeric'
  /**
   * The maximum number of characters. Never set it for passwords, because browsers silently truncate a longer password.
   */
  maxlength?: number
  readonly?: boolean
  autofocus?: boolean
}

/**
 * Returns a field: label, hint, error and input, in the order in which screen readers read them. Every field that can
 * be edited is required.
 */
export function renderField({ name, label, type = 'text', hint, error, value, readonly, ...attributes }: FormField) {
  const describedBy = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(' ')
  const inputAttributes = [
    html`id="${name}" name="${name}" type="${type}" autocomplete="${attributes.autocomplete}"`,
    value !== undefined && html` value="${value}"`,
    attributes.inputmode && html` inputmode="${attributes.inputmode}"`,
    attributes.maxlength && html` maxlength="${attributes.maxlength}"`,
    type === 'text' && html` autocapitalize="none" autocorrect="off" spellcheck="false"`,
    describedBy && html` aria-describedby="${describedBy}"`,
    error && html` aria-invalid="true"`,
    readonly ? html` readonly` : html` required`,
    attributes.autofocus && html` autofocus`,
  ]
  return html`<div class="field${error && ' wrong'}">
<label for="${name}">${label}</label>
${hint && html`<div class="hint" id="${name}-hint">${hint}</div>`}
${error && html`<p class="error" id="${name}-error">${error}</p>`}
<input ${inputAttributes}>
</div>`
}

interface FormMarkup {
  method?: 'get' | 'post'
  action: string
  hidden: Record<string, string>
  main: HtmlValue
}

/** Returns a form. Browser validation is off: the server reports all errors at once and in the page's language. */
export const renderForm = ({
  method = 'post',
  action,
  hidden,
  main,
}: FormMarkup): HtmlMarkup => html`<form method="${method}" action="${action}" novalidate>
${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}${main}
</form>`

export const renderButton = (
  label: HtmlValue,
  { name, value, quiet }: { name?: string; value?: string; quiet?: boolean } = {},
) =>
  html`<button type="submit"${name && html` name="${name}"`}${value && html` value="${value}"`}${quiet && html` class="quiet"`}>${label}</button>`

/** Returns the error summary at the top of the page, with a link to each wrong field. It has the focus. */
export function renderSummary(
  texts: PageTexts,
  message: string | undefined,
  fieldErrors: Record<string, string | undefined> = {},
): HtmlMarkup {
  const fields = Object.entries(fieldErrors).filter(([, error]) => error)
  if (!message && fields.length === 0) return html``
  return html`<div class="summary" role="alert" tabindex="-1" autofocus>
<h2>${texts.problem}</h2>
${message && html`<p>${message}</p>`}
${fields.length > 0 && html`<ul>${fields.map(([name, error]) => html`<li><a href="#${name}">${error}</a></li>`)}</ul>`}
</div>`
}
