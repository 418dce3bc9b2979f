import { html, isolateName } from './html.ts'
import { readPageTexts } from './choose-language.ts'
import { renderButton, renderField, renderForm, renderSummary } from './components/forms.ts'
import { renderFrame, type PageFacts } from './components/page-layout.ts'

interface DeviceFormFacts extends PageFacts {
  action: string
  /** Hidden fields, such as the CSRF token of oidc-provider. */
  hidden: Record<string, string>
}

interface DeviceCodeFacts extends DeviceFormFacts {
  /** The code from the link that opened the page. */
  userCode?: string
  message?: string
}

/** Returns the page with the form field `user_code`. */
export function renderDeviceCodePage({ action, hidden, userCode, message, ...pageFacts }: DeviceCodeFacts): string {
  const texts = readPageTexts(pageFacts.language)
  const pageTexts = texts.device
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title,
    failed: message !== undefined,
    main: html`<p class="lead">${pageTexts.lead}</p>
${renderSummary(texts, undefined, { user_code: message })}
${renderForm({
  action,
  hidden,
  main: html`${renderField({
    name: 'user_code',
    label: pageTexts.label,
    hint: pageTexts.hint,
    error: message,
    autocomplete: 'off',
    value: userCode ?? '',
    maxlength: 20,
    autofocus: !message,
  })}
${renderButton(pageTexts.submit)}`,
})}`,
  })
}

interface DeviceConfirmationFacts extends DeviceFormFacts {
  application: string
  userCode: string
  /** The network address of the program that requested the code, and the name that the program claims. */
  address: string
  userAgent: string
}

/**
 * Returns the page with the form fields `confirm` and `abort`. It shows the program that requests the sign-in, and its
 * address.
 */
export function renderDeviceConfirmationPage(pageFacts: DeviceConfirmationFacts): string {
  const { action, hidden, application, userCode, address, userAgent, ...page } = pageFacts
  const pageTexts = readPageTexts(page.language).device
  const rows = [
    [pageTexts.label, html`<code>${userCode}</code>`],
    [pageTexts.address, isolateName(address)],
    ...(userAgent ? [[pageTexts.program, isolateName(userAgent)]] : []),
  ]
  const abort = renderButton(pageTexts.abort, { name: 'abort', value: 'yes', quiet: true })
  const confirm = renderButton(pageTexts.confirm, { name: 'confirm', value: 'yes' })
  return renderFrame({
    ...page,
    title: pageTexts.confirmTitle,
    main: html`<p class="lead">${pageTexts.confirmLead(html`<strong>${isolateName(application)}</strong>`)}</p>
<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
<p>${pageTexts.warning}</p>
${renderForm({ action, hidden, main: [abort, confirm] })}`,
  })
}
