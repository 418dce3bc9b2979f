import { toSafeHref, html } from './html.ts'
import { readPageTexts } from './choose-language.ts'
import { renderButton, renderField, renderForm, renderSummary } from './components/forms.ts'
import { renderFrame, type PageFacts } from './components/page-layout.ts'

interface CodeFacts extends PageFacts {
  action: string
  csrf: string
  message?: string
  /** Whether the page asks for a recovery code instead of a code of the authenticator app. */
  recovery?: boolean
  /** The link to the same page for the other kind of code. */
  otherHref?: string
}

/** Returns the page with the form field `code`. */
export function renderCodeForm({
  action,
  csrf,
  message,
  recovery = false,
  otherHref,
  ...pageFacts
}: CodeFacts): string {
  const texts = readPageTexts(pageFacts.language)
  const pageTexts = texts.code
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title,
    failed: message !== undefined,
    main: html`<p class="lead">${recovery ? pageTexts.recoveryLead : pageTexts.lead}</p>
${renderSummary(texts, undefined, { code: message })}
${renderForm({
  action,
  hidden: { csrf },
  main: html`${renderField({
    name: 'code',
    label: recovery ? pageTexts.recoveryLabel : pageTexts.label,
    hint: recovery ? pageTexts.recoveryHint : pageTexts.hint,
    error: message,
    autocomplete: recovery ? 'off' : 'one-time-code',
    inputmode: recovery ? 'text' : 'numeric',
    maxlength: 40,
    autofocus: !message,
  })}
${renderButton(pageTexts.submit)}`,
})}
${otherHref && html`<p class="aside"><a href="${toSafeHref(otherHref)}">${recovery ? pageTexts.useApp : pageTexts.useRecovery}</a></p>`}`,
  })
}
