import { safeHref, html } from './html.ts'
import { textsIn } from './language.ts'
import { button, field, form, summary } from './parts/forms.ts'
import { page, type PageFacts } from './parts/frame.ts'

interface CodeFacts extends PageFacts {
  action: string
  csrf: string
  message?: string
  /** Whether the page requests a recovery code instead of the app's code. */
  recovery?: boolean
  /** The link to the same page for the other kind of code. */
  otherHref?: string
}

/** Returns the page with the form field `code`. */
export function codePage({ action, csrf, message, recovery = false, otherHref, ...facts }: CodeFacts): string {
  const texts = textsIn(facts.language)
  const words = texts.code
  return page({
    ...facts,
    title: words.title,
    failed: message !== undefined,
    main: html`<p class="lead">${recovery ? words.recoveryLead : words.lead}</p>
${summary(texts, undefined, { code: message })}
${form({
  action,
  hidden: { csrf },
  main: html`${field({
    name: 'code',
    label: recovery ? words.recoveryLabel : words.label,
    hint: recovery ? words.recoveryHint : words.hint,
    error: message,
    autocomplete: recovery ? 'off' : 'one-time-code',
    inputmode: recovery ? 'text' : 'numeric',
    maxlength: 40,
    autofocus: !message,
  })}
${button(words.submit)}`,
})}
${otherHref && html`<p class="aside"><a href="${safeHref(otherHref)}">${recovery ? words.useApp : words.useRecovery}</a></p>`}`,
  })
}
