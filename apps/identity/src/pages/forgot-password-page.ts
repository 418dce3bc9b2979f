import { html } from './html.ts'
import { textsIn } from './language.ts'
import { button, field, form, summary } from './parts/forms.ts'
import { page, type PageFacts } from './parts/frame.ts'

export interface ForgotPasswordFacts extends PageFacts {
  action: string
  csrf: string
  username?: string
  wrong?: { username?: string } | undefined
}

/** Returns the page with the form field `username`. */
export function forgotPasswordPage({ action, csrf, username, wrong, ...facts }: ForgotPasswordFacts): string {
  const texts = textsIn(facts.language)
  const words = texts.forgotPassword
  return page({
    ...facts,
    texts,
    title: words.title,
    heading: words.title,
    failed: wrong !== undefined,
    main: html`<p class="lead">${words.lead}</p>
${summary(texts, undefined, wrong)}
${form({
  action,
  hidden: { csrf },
  main: html`${field({
    name: 'username',
    label: words.label,
    autocomplete: 'username',
    value: username ?? '',
    maxlength: 254,
    error: wrong?.username,
    autofocus: !wrong,
  })}
${button(words.submit)}`,
})}`,
  })
}
