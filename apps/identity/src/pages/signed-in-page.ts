import { safeHref, html, name } from './html.ts'
import { textsIn } from './language.ts'
import { button, form } from './parts/forms.ts'
import { page, type Organisation, type PageFacts } from './parts/frame.ts'

interface SignedInFacts extends PageFacts {
  organisation: Organisation
  user: { name: string; username: string }
  /**
   * The page shows the token for use on the command line, and the sign-out form sends it. No URL contains it, and browsers
   * do not cache the page.
   */
  refreshToken: string
  /** URL that exchanges the refresh token for new tokens. */
  refreshUrl: string
  /** `HOME_URL`; empty if it is not set. */
  home: string
  /** URL that the sign-out form is sent to. */
  action: string
}

/** Returns the page that ends a sign-in at a provider that no application started. */
export function signedInPage({ user, refreshToken, refreshUrl, home, action, ...facts }: SignedInFacts): string {
  const texts = textsIn(facts.language)
  const words = texts.signedIn
  const who = html`<strong>${name(user.name)}</strong>`
  const organisation = html`<strong>${name(facts.organisation.name)}</strong>`
  return page({
    ...facts,
    title: words.title,
    sign: html`<div class="mark success" aria-hidden="true">✓</div>`,
    main: html`<p class="lead">${words.lead(who, name(user.username), organisation)}</p>
${home && html`<p><a class="button" href="${safeHref(home)}">${texts.signOut.back(new URL(home).host)}</a></p>`}
<details>
<summary>${words.commandLine}</summary>
<p>${words.commands}</p>
<pre><code>read -rs REFRESH_TOKEN
printf '{"refreshToken":"%s"}' "$REFRESH_TOKEN" |
  curl -s ${refreshUrl} -H 'Content-Type: application/json' --data-binary @-</code></pre>
<p>${words.token}</p>
<pre><code>${refreshToken}</code></pre>
</details>
${form({ action, hidden: { refreshToken }, main: button(texts.signOut.submit, { quiet: true }) })}
<p class="hint">${words.stays}</p>`,
  })
}
